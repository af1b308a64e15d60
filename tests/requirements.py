"""Every promise with its id.

A test carries a promise by `@pytest.mark.requirement("id")`. `test_requirements.py` checks both
ways: no promise without a test, no test of a promise that is not here.
"""

REQUIREMENTS = {
    "language.lossless": "parse then write back is the identity for any bytes",
    "language.structure": "structure comes from a Markdown parser, not from the look of lines",
    "language.fixtures": "the three plans of the design parse, show and verify as they stand",
    "language.tolerance": "what models really write parses or gets a fix proposed",
    "language.expectations": "every expectation of the language is read, no other line is dropped",
    "language.digest": "the digest changes with the meaning and only with it",
    "language.edit": "setting a status changes only that status's line",
    "language.limits": "budgets and durations are read as people write them",
    "language.expand": "a template becomes numbered steps and everything else stays",
    "language.repair": "fmt mends what models get wrong, once and for all",
    "verify.one-pass": "verify reports everything that is wrong in one pass, with its place",
    "verify.static": "verify runs no contract",
    "verify.one-shell": "the shell syntax of a whole plan is checked by one process",
    "verify.formats": "diagnostics come as text, JSON, SARIF and GitHub commands",
    "verify.never-crashes": "a malformed file of any kind gives diagnostics, never a traceback",
    "verify.exit-codes": "0 clean or warnings, 1 errors, 2 usage",
    "verify.explain": "every code has a page with the fixed headings",
    "command.init": "init makes what a workspace needs and never overwrites",
    "command.new": "new writes a draft and never overwrites",
    "command.show": "show tells what a plan says, to people and programs",
    "command.list": "list has a line for every plan, readable or not",
    "command.verify": "verify works on names, files, standard input and all plans",
    "command.fmt": "fmt prints a diff and writes; --check only says so",
    "command.expand": "expand writes a template out in the file",
    "command.explain": "explain prints a rule's page",
    "cli.honest-ends": "every end has its exit code and a message that helps",
    "cli.anywhere": "commands work from a subdirectory, without a terminal, without colours",
    "invariant.bind-loudly": "a plan that cannot be told is an error, never another plan",
    "docs.readme": "README's console blocks are what the program prints",
    "docs.reference": "the reference pages are generated and current",
}
