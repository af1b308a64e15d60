-- Whoever appends may make temporary tables. Where the search path of a function does not name
-- their schema, it comes first, and a table of that name there would stand for the journal.

DO $$
DECLARE
    own text := current_schema();
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['refuse_change', 'check_place', 'tell_listeners'] LOOP
        EXECUTE format('ALTER FUNCTION %I.%I() SET search_path = %I, pg_temp', own, name, own);
    END LOOP;
END
$$;
