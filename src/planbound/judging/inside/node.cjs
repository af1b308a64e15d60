'use strict';

// Loaded first by each node that a contract starts, so that the values that judges expect are
// changed. It stands in front of the assertions, whoever replaces them later: an equality that a
// judge asks for gets another value of the same type. No file is changed. What it writes down is
// what `read_mutated` reads. SETTINGS is put in where it is laid. Where TOLD has literals by judge,
// these stand in its text, and nothing else is changed.
(() => {
const { JUDGES, MOST, MARK, TOLD } = SETTINGS;
const assert = require('node:assert');
const hooks = require('node:async_hooks');
const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { isDeepStrictEqual, types } = require('node:util');
const { isMainThread } = require('node:worker_threads');

// What is needed later is taken now: a product may replace it.
const { apply, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Reflect;
const { defineProperty, create, is } = Object;
const { stringify, parse } = JSON;
const { openSync, writeSync, closeSync, readFileSync, realpathSync } = fs;
const { isInteger, isFinite } = Number;
const TheError = Error;

const ROOT = realpathSync(path.resolve(__dirname, '..'));
const FILES = new Set(JUDGES.map((name) => path.join(ROOT, ...name.split('/'))));
const MATCHERS = new Set(['toBe', 'toEqual', 'toStrictEqual', 'toBeCloseTo', 'toMatchObject']);
// Somebody may take a failure, or wants one.
const TAKES = new RegExp(
  '\\bcatch\\b|\\brejects\\b|\\ballSettled\\b|\\.then\\(|\\b(?:fails|failing|concurrent|soft)\\b'
  + '|retry|retries|expectFailure|uncaughtException|unhandledRejection');
// A judge that replaces an assertion itself, or says what is equal.
const SAYS = /addEqualityTesters|\bassert(?:\.strict)?\.\w+\s*=[^=>]/;
const RUNS = /^node:internal\/(?:modules|test_runner)\//;


// -- what is written down -------------------------------------------------------------------------


let number = null;

function take() {
  for (let each = 0; each < MOST; each += 1) {
    try {
      closeSync(openSync(path.join(__dirname, String(each)), 'wx'));
      return each;
    } catch (error) {
      if (error.code !== 'EEXIST') return -1;
    }
  }
  return -1;
}

function note(word, value) {
  number ??= take();
  if (number < 0) return;
  try {
    const opened = openSync(path.join(__dirname, String(number)), 'a');
    writeSync(opened, `${stringify([word, value])}\n`);
    closeSync(opened);
  } catch {
    // Then nothing is known of it.
  }
}

const relative = (file) => path.relative(ROOT, file).split(path.sep).join('/');
const times = new Map();
let current = () => '';

// Writes down what became of an equality, at once: the process may be killed. Enough is enough.
function saw(name, changed, held, lost) {
  const before = times.get(name) ?? 0;
  times.set(name, before + 1);
  if (before < 100) note('seen', [name, 0, changed, held, lost]);
}

// Writes down that an equality was reached of which nothing else can be said.
function reached(name) {
  if (!times.has(name)) note('seen', [name, 1, 0, 0, 0]);
}

const followed = new Set();

// Writes down who runs the tests of a file.
function follows(file, who) {
  if (followed.has(file)) return;
  followed.add(file);
  note('follows', [file, who]);
}

// Writes down that an assertion passes where plain equality says no.
const lied = (name) => note('lied', name);

const ends = new Map();
const RANKS = ['passed', 'skipped', 'failed'];

// Several tests may have one name.
function ended(name, how) {
  const most = Math.max(RANKS.indexOf(how), ends.get(name) ?? 0);
  ends.set(name, most);
  note('ends', { [name]: RANKS[most] });
}


// -- values ---------------------------------------------------------------------------------------


const some = (most) => 1 + (randomBytes(4).readUInt32BE(0) % most);
const sign = () => (some(2) === 1 ? 1 : -1);
const letters = (count) => {
  let made = '';
  for (let each = 0; each < count; each += 1) made += 'abcdefghijklmnopqrstuvwxyz'[some(26) - 1];
  return made;
};

function places(count) {
  const first = count ? some(count) - 1 : 0;
  const found = [];
  for (let each = 0; each < count && each < 8; each += 1) found.push((first + each) % count);
  return found;
}

// Returns another value of the same type; the same one where there is none.
function change(value, depth = 0) {
  switch (typeof value) {
    case 'boolean': return !value;
    case 'undefined': return some(1e9);
    case 'bigint': return value + BigInt(sign() * some(9));
    case 'number':
      if (!isFinite(value)) return some(99);
      if (isInteger(value) && value < 1e15 && value > -1e15) return value + sign() * some(9);
      return value + sign() * ((value < 0 ? -value : value) + 1) * (1 + some(9)) / 16;
    case 'string': {
      const place = some(value.length + 1) - 1;
      return value.slice(0, place) + letters(1) + value.slice(place);
    }
    case 'object': return value === null ? some(1e9) : changeObject(value, depth);
    default: return value;
  }
}

function changeObject(value, depth) {
  if (types.isProxy(value) || depth > 4) return value;
  if (typeof value.asymmetricMatch === 'function') return value;
  const proto = getPrototypeOf(value);
  if (Array.isArray(value)) return changeList(value, proto, depth);
  const kind = proto === null ? 'Object' : proto.constructor?.name;
  if (types.isMap(value) && kind === 'Map') return changeMap(value, depth);
  if (types.isSet(value) && kind === 'Set') return new proto.constructor([...value, letters(12)]);
  if (types.isDate(value) && kind === 'Date') {
    return new proto.constructor(isFinite(+value) ? +value + some(9) * 86400000 : some(1e9));
  }
  if (types.isUint8Array(value) && value.length) {
    const copied = value.constructor.from(value);
    copied[some(copied.length) - 1] ^= some(255);
    return copied;
  }
  const plain = Object.prototype.toString.call(value) === '[object Object]';
  const known = types.isNativeError(value) || types.isPromise(value) || Symbol.iterator in value;
  return plain && !known ? changeFields(value, proto, depth) : value;
}

function changeList(value, proto, depth) {
  const copied = [];
  copied.length = value.length;
  for (const key of Object.keys(value)) copied[key] = value[key];
  setPrototypeOf(copied, proto);
  for (const place of places(value.length)) {
    const inner = change(value[place], depth + 1);
    if (is(inner, value[place])) continue;
    copied[place] = inner;
    return copied;
  }
  copied[value.length] = some(1e9);
  return copied;
}

function changeMap(value, depth) {
  const copied = new value.constructor(value);
  const keys = [...value.keys()];
  for (const place of places(keys.length)) {
    const before = value.get(keys[place]);
    const inner = change(before, depth + 1);
    if (!is(inner, before)) return copied.set(keys[place], inner);
  }
  return copied.set(letters(12), some(1e9));
}

function changeFields(value, proto, depth) {
  const copied = create(proto);
  for (const key of ownKeys(value)) {
    defineProperty(copied, key, getOwnPropertyDescriptor(value, key));
  }
  const keys = Object.keys(value);
  for (const place of places(keys.length)) {
    const found = getOwnPropertyDescriptor(value, keys[place]);
    if (!('value' in found)) continue;
    const inner = change(found.value, depth + 1);
    if (is(inner, found.value)) continue;
    defineProperty(copied, keys[place], { ...found, value: inner });
    return copied;
  }
  // What an object of a class keeps elsewhere is not seen here.
  if (proto !== null && getPrototypeOf(proto) !== null) return value;
  copied[letters(12)] = some(1e9);
  return copied;
}

function another(value) {
  try {
    const changed = change(value);
    return isDeepStrictEqual(changed, value) ? value : changed;
  } catch {
    return value;
  }
}


// -- who asks -------------------------------------------------------------------------------------


// Returns the files of the stack, the innermost first; '' for what is built in.
function callers() {
  const { prepareStackTrace, stackTraceLimit } = TheError;
  let files = [];
  try {
    TheError.stackTraceLimit = 60;
    TheError.prepareStackTrace = (_error, sites) => sites.map((site) => site.getFileName() ?? '');
    files = new TheError().stack;
    TheError.stackTraceLimit = stackTraceLimit;
    TheError.prepareStackTrace = prepareStackTrace;
  } catch {
    // Somebody keeps it as it is.
  }
  return Array.isArray(files) ? files.map(plainPath).filter((file) => file !== __filename) : [];
}

function plainPath(file) {
  const bare = file.split('?')[0];
  try {
    return bare.startsWith('file:') ? fileURLToPath(bare) : bare;
  } catch {
    return bare;
  }
}

// Where nobody is seen, it may be a judge.
const mayBeAsked = (files) => !files.length || isAsked(files);

function isAsked(files) {
  const first = files.find((file) => file && !file.startsWith('node:'));
  return first !== undefined && FILES.has(first);
}

const texts = new Map();

function mayTake(file) {
  if (!texts.has(file)) {
    let takes = true;
    try {
      takes = TAKES.test(readFileSync(file, 'utf8'));
    } catch {
      // Nobody knows.
    }
    texts.set(file, takes);
  }
  return texts.get(file);
}

// Says whether a failure there is the test's: nobody is seen between who could take it.
function isDirect(files) {
  let between = false;
  let called = false;
  for (const file of files) {
    if (FILES.has(file)) {
      if (between || mayTake(file)) return false;
    } else {
      between = true;
      called ||= file !== '' && (!file.startsWith('node:') || RUNS.test(file));
    }
  }
  return called;
}


// -- what judges call instead of an assertion -----------------------------------------------------


const holds = (call, value) => {
  try {
    const result = call(value);
    if (types.isPromise(result)) result.then(null, () => {});
    return !types.isPromise(result);
  } catch {
    return false;
  }
};

const told = new Map();

function toldOf(file) {
  if (!told.has(file)) {
    const values = new Set();
    for (const literal of TOLD[relative(file)] ?? []) {
      try {
        values.add(new Function(`return ${literal};`)());
      } catch {
        // Then it is not known.
      }
    }
    told.set(file, values);
  }
  return told.get(file);
}

function contains(values, value, room = 6) {
  if (isPlain(value)) return values.has(value) || (typeof value === 'number' && values.has(-value));
  return room > 0 && fieldsOf(value) !== null
    && Object.values(value).some((each) => contains(values, each, room - 1));
}

// Notes an assertion that passes with what stands in the changed text.
function takes(call, expected, files) {
  const file = files.find((each) => FILES.has(each));
  const name = current() || (file ? `${relative(file)}::` : '');
  const result = call(expected);
  if (file && contains(toldOf(file), expected)) note('taken', name);
  return result;
}

let within = 0;

// Returns a call in which no assertion is tried: one that a judge's own assertion makes would get a
// value that was changed twice, which may be what is right.
const whole = (call) => (value) => {
  within += 1;
  try {
    return call(value);
  } finally {
    within -= 1;
  }
};

// `made` makes the assertion with a value, `differs` says whether that surely is not what is there.
function tried(made, expected, files, differs) {
  if (within) return made(expected);
  if (TOLD) return takes(made, expected, files);
  const call = whole(made);
  const changed = another(expected);
  const name = current();
  // What is right passes, although something else is there.
  if (differs(expected) && holds(call, expected)) lied(name);
  if (is(changed, expected)) {
    reached(name);
    return made(expected);
  }
  let result;
  try {
    result = call(changed);
  } catch (error) {
    saw(name, 1, 0, isDirect(files) ? 1 : 0);
    throw error;
  }
  if (!types.isPromise(result)) {
    if (differs(changed)) lied(name);
    look(call, expected, name);
    return result;
  }
  return result.then(
    async (value) => {
      await lookLater(call, expected, name);
      return value;
    },
    (error) => {
      saw(name, 1, 0, 0);
      throw error;
    },
  );
}

const others = (expected) => {
  return Array.from({ length: 5 + some(5) }, () => another(expected)).filter((each) => !is(each, expected));
};

// It passed with another value. Where it tells some values apart, nothing is said; but who is equal
// to what is met first is not to what was right before.
function look(call, expected, name) {
  const passes = (value) => {
    try {
      call(value);
      return true;
    } catch {
      return false;
    }
  };
  const all = others(expected).map(passes).every(Boolean);
  if (all || !passes(expected)) saw(name, 1, 1, 0);
  else reached(name);
}

async function lookLater(call, expected, name) {
  const passes = (value) => Promise.resolve(call(value)).then(() => true, () => false);
  const found = [];
  for (const each of others(expected)) found.push(await passes(each));
  if (found.every(Boolean) || !(await passes(expected))) saw(name, 1, 1, 0);
  else reached(name);
}

function keptFor(make) {
  const known = new WeakMap();
  return (value) => {
    if (typeof value !== 'function') return value;
    if (!known.has(value)) {
      const made = make(value);
      known.set(value, made);
      known.set(made, made);
    }
    return known.get(value);
  };
}

const stood = [];

// Stands in front of a property, whoever sets it.
function stand(target, name, wrapped) {
  const place = { target, name, now: undefined };
  place.get = () => wrapped(place.now);
  place.set = (value) => {
    place.now = value;
  };
  stood.push(place);
  standAgain(place);
}

// Somebody may have defined the property anew.
function standAgain(place) {
  const { target, name, get, set } = place;
  const found = getOwnPropertyDescriptor(target, name);
  if (found?.get === get || found?.configurable === false) return;
  place.now = target[name];
  defineProperty(target, name, {
    configurable: true, enumerable: found?.enumerable ?? true, get, set,
  });
}

const standAll = () => stood.forEach(standAgain);

let ownEquality;

function hasOwnEquality() {
  ownEquality ??= [...FILES].some((file) => {
    try {
      return SAYS.test(readFileSync(file, 'utf8'));
    } catch {
      return false;
    }
  });
  return ownEquality;
}

// `genuine` is what the property was before anything else was loaded.
const assertion = (genuine) => keptFor((real) => new Proxy(real, {
  apply(target, self, given) {
    const files = given.length < 2 ? [] : callers();
    if (!isAsked(files)) {
      if (mayBeAsked(files)) reached(current());
      return apply(target, self, given);
    }
    const [actual, expected, ...rest] = given;
    const differs = (value) => target !== genuine && !hasOwnEquality()
      && !holds(() => { genuine(actual, value); }, value);
    const call = (value) => apply(target, self, [actual, value, ...rest]);
    return tried(call, expected, files, differs);
  },
}));

// These are told when they are reached, and not changed.
const OTHERS = [
  'ok', 'throws', 'rejects', 'doesNotThrow', 'doesNotReject', 'match', 'doesNotMatch',
  'notEqual', 'notStrictEqual', 'notDeepEqual', 'notDeepStrictEqual',
];
const telling = keptFor((real) => new Proxy(real, {
  apply(target, self, given) {
    if (mayBeAsked(callers())) reached(current());
    return apply(target, self, given);
  },
}));

function changeAssert() {
  for (const each of [assert, assert.strict]) {
    for (const name of ['equal', 'strictEqual', 'deepEqual', 'deepStrictEqual']) {
      stand(each, name, assertion(each[name]));
    }
    for (const name of OTHERS) stand(each, name, telling);
  }
  Module.syncBuiltinESMExports();
}

const isLoose = (name, given) => name === 'toBeCloseTo' && given.length > 1 && !(given[1] >= 0);

const isPlain = (value) => typeof value !== 'object' || value === null;

const fieldsOf = (value) => {
  if (isPlain(value) || types.isProxy(value) || 'asymmetricMatch' in value) return null;
  const proto = getPrototypeOf(value);
  const kind = Array.isArray(value) || proto === null || getPrototypeOf(proto) === null;
  return kind ? value : null;
};

// Says whether two values cannot be equal, also where somebody lets numbers differ a little, and
// texts in case and blanks. Of everything but plain data it is not said.
function areOther(one, two, room = 5) {
  if (isPlain(one) && isPlain(two)) {
    if (typeof one !== typeof two) return true;
    if (typeof one === 'number' && isFinite(one) && isFinite(two)) {
      const [low, high] = one < two ? [one, two] : [two, one];
      return high - low > 1e-3 * (1 + (high < 0 ? -high : high));
    }
    if (typeof one !== 'string') return !is(one, two);
    const bare = (text) => text.toLowerCase().replace(/\s+/g, '');
    return bare(one) !== bare(two);
  }
  const [first, second] = [fieldsOf(one), fieldsOf(two)];
  if (!first || !second || !room || Array.isArray(first) !== Array.isArray(second)) return false;
  if (Array.isArray(first) && first.length !== second.length) return true;
  return Object.keys(second).slice(0, 1000).some((key) => {
    const here = getOwnPropertyDescriptor(second, key);
    const there = getOwnPropertyDescriptor(first, key);
    if (!here || !('value' in here) || here.value === undefined) return false;
    return there === undefined || ('value' in there && areOther(there.value, here.value, room - 1));
  });
}

function isAnother(name, actual, value, rest) {
  if (name === 'toBe') return !is(actual, value);
  if (name !== 'toBeCloseTo') return areOther(actual, value);
  const far = typeof actual === 'number' && typeof value === 'number' && isFinite(actual - value);
  const [low, high] = actual < value ? [actual, value] : [value, actual];
  return far && high - low >= 10 ** -(rest[0] ?? 2);
}

// `actual` is a list with what is there, empty where that comes later.
function matcher(name, real, self, files, actual) {
  return (...given) => {
    if (given.length < 1 || isLoose(name, given)) return apply(real, self, given);
    const [expected, ...rest] = given;
    const call = (value) => apply(real, self, [value, ...rest]);
    const differs = (value) => {
      try {
        return actual.length > 0 && !hasOwnEquality() && isAnother(name, actual[0], value, rest);
      } catch {
        return false;
      }
    };
    return tried(call, expected, files ?? callers(), differs);
  };
}

function expectation(made, files, actual) {
  if (made === null || typeof made !== 'object') return made;
  return new Proxy({}, {
    get(_target, name) {
      const found = made[name];
      if (name === 'resolves') return expectation(found, files, []);
      return MATCHERS.has(name) && typeof found === 'function'
        ? matcher(name, found, made, files, actual)
        : found;
    },
    has: (_target, name) => name in made,
    set: (_target, name, value) => Reflect.set(made, name, value),
  });
}

const expecting = keptFor((real) => new Proxy(real, {
  apply(target, self, given) {
    const made = apply(target, self, given);
    const files = callers();
    if (mayBeAsked(files)) reached(current());
    return isAsked(files) ? expectation(made, files, given.slice(0, 1)) : made;
  },
}));


// -- runners --------------------------------------------------------------------------------------


function changeJest(Runtime) {
  const { requireInternalModule, setGlobalsForRuntime } = Runtime.prototype;
  const known = new WeakSet();
  Runtime.prototype.requireInternalModule = function requiring(...given) {
    const environment = this._environment;
    if (environment?.global && !known.has(environment)) {
      known.add(environment);
      followJest(environment, relative(this._testPath ?? ROOT));
    }
    return apply(requireInternalModule, this, given);
  };
  Runtime.prototype.setGlobalsForRuntime = function setting(globals, ...rest) {
    const { global } = this._environment;
    // The world of the file before is not kept alive.
    const before = stood.findIndex((place) => place.name === 'expect');
    if (before >= 0) stood.splice(before, 1);
    stand(global, 'expect', expecting);
    return apply(setGlobalsForRuntime, this, [
      { ...globals, expect: expecting(globals.expect) }, ...rest,
    ]);
  };
}

function followJest(environment, file) {
  const before = environment.handleTestEvent;
  let name = '';
  const named = (test) => {
    const words = [];
    for (let each = test; each?.parent; each = each.parent) words.unshift(each.name);
    return `${file}::${words.join(' ')}`;
  };
  environment.handleTestEvent = function handling(event, state) {
    if (event.name === 'test_start') {
      standAll();
      name = event.test.concurrent ? '' : named(event.test);
      follows(file, 'jest');
      current = () => name;
    } else if (event.name === 'test_done') {
      const { errors, failing } = event.test;
      ended(named(event.test), failing ? 'skipped' : errors.length ? 'failed' : 'passed');
      name = '';
    } else if (event.name === 'test_skip' || event.name === 'test_todo') {
      ended(named(event.test), 'skipped');
    }
    return before ? apply(before, environment, [event, state]) : undefined;
  };
}

function changeMocha(Runner) {
  const { run } = Runner.prototype;
  Runner.prototype.run = function running(...given) {
    let name = '';
    const named = (test) => `${relative(test.file ?? ROOT)}::${test.fullTitle()}`;
    this.on('test', (test) => {
      standAll();
      name = named(test);
      current = () => name;
      follows(relative(test.file ?? ROOT), 'mocha');
    });
    for (const [event, how] of [['pass', 'passed'], ['fail', 'failed'], ['pending', 'skipped']]) {
      this.on(event, (test) => {
        if (test.type === 'test') ended(named(test), how);
        name = '';
      });
    }
    return apply(run, this, given);
  };
}

function changeModules() {
  const { _load } = Module;
  const changes = new Map([
    [/(?:^|\/)jest-runtime(?:\/|$)/, (found) => {
      const Runtime = found?.default ?? found;
      return typeof Runtime?.prototype?.setGlobalsForRuntime === 'function'
        && (() => changeJest(Runtime));
    }],
    [/(?:^|\/)runner(?:\.js)?$/, (found) => {
      return typeof found?.prototype?.runTests === 'function' && (() => changeMocha(found));
    }],
  ]);
  Module._load = function loading(request, ...rest) {
    const found = apply(_load, this, [request, ...rest]);
    for (const [name, of] of changes) {
      const made = typeof request === 'string' && name.test(request) && of(found);
      if (!made) continue;
      changes.delete(name);
      made();
    }
    return found;
  };
}

// vitest shows its `expect` by a property of the global object.
function changeDefining() {
  const shown = Symbol.for('expect-global');
  const watched = (real) => new Proxy(real, {
    apply(target, self, given) {
      const made = apply(target, self, given);
      if (given[1] === shown && typeof given[2]?.value === 'function') followVitest(given[2].value);
      if (stood.some((place) => place.target === given[0])) standAll();
      return made;
    },
  });
  Object.defineProperty = watched(defineProperty);
  Object.defineProperties = watched(Object.defineProperties);
  Reflect.defineProperty = watched(Reflect.defineProperty);
}

function followVitest(expect) {
  current = () => {
    const { currentTestName, testPath } = expect.getState();
    return currentTestName && testPath
      ? `${relative(testPath)}::${currentTestName.split(' > ').join(' ')}`
      : '';
  };
  const method = keptFor((real) => new Proxy(real, {
    apply(target, self, given) {
      const files = callers();
      const asked = isAsked(files) && !self?.__flags?.negate && !self?.__flags?.promise;
      const name = names.get(real);
      if (!asked) return apply(target, self, given);
      const actual = self?.__flags ? [self.__flags.object] : [];
      return matcher(name, target, self, files, actual)(...given);
    },
  }));
  const names = new WeakMap();
  let proto = getPrototypeOf(expect(0));
  while (proto && !getOwnPropertyDescriptor(proto, 'toBe')) proto = getPrototypeOf(proto);
  for (const name of proto ? MATCHERS : []) {
    stand(proto, name, (real) => {
      if (typeof real === 'function') names.set(real, name);
      return method(real);
    });
  }
}

// Asks the runner for its report where it is started: tests run in processes below.
function reportVitest() {
  process.env[MARK] = '1';
  const found = path.join(__dirname, `${MARK}.json`);
  process.argv.push('--reporter=json', `--outputFile.json=${found}`);
  process.on('exit', () => {
    let report = {};
    try {
      report = parse(readFileSync(found, 'utf8'));
    } catch {
      return;
    }
    for (const file of report.testResults ?? []) {
      for (const each of file.assertionResults) {
        const how = RANKS.includes(each.status) ? each.status : 'skipped';
        ended(`${relative(file.name)}::${each.fullName}`, how);
      }
    }
  });
}

// node's own tests are resources of asynchronous work.
function followNode(main) {
  const tests = new Map();
  const all = [];
  const kind = (each) => each?.constructor?.name;
  hooks.createHook({
    init(id, type, trigger, resource) {
      // Who waits for a promise of somebody else goes on in a test of its own.
      const running = tests.get(hooks.executionAsyncId());
      const owner = type === 'Test' && 'runInAsyncScope' in resource
        ? resource
        : (type === 'PROMISE' ? running : undefined) ?? tests.get(trigger) ?? running;
      if (owner === undefined) return;
      tests.set(id, owner);
      if (owner === resource && kind(owner) === 'Test') all.push(owner);
    },
    before: standAll,
    destroy(id) {
      tests.delete(id);
    },
  }).enable();
  const named = (test) => {
    const words = [];
    for (let each = test; each?.parent; each = each.parent) words.unshift(each.name);
    return words.length ? `${relative(main)}::${words.join(' ')}` : '';
  };
  current = () => {
    const owner = tests.get(hooks.executionAsyncId());
    return kind(owner) === 'Test' ? named(owner) : '';
  };
  process.on('exit', () => {
    for (const each of all) {
      const name = named(each);
      if (!name || (each.subtests?.length && !times.has(name))) continue;
      const left = each.skipped || each.isTodo || each.expectFailure;
      ended(name, left ? 'skipped' : each.passed ? 'passed' : 'failed');
    }
  });
}

// `node --test FILE` names a test as its program, and runs it in a process below.
function runsBelow() {
  const given = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`;
  return process.execArgv.includes('--test') && !/-isolation[= ]none\b/.test(given);
}

// What tests start is not the run that is looked at.
function alone() {
  const { env } = process;
  const ours = `--require "${__filename}"`;
  env.NODE_OPTIONS = (env.NODE_OPTIONS ?? '').replace(ours, '').trim();
  if (!env.NODE_OPTIONS) delete env.NODE_OPTIONS;
}

function start() {
  const program = process.argv[1] ?? '';
  let real = program;
  try {
    real = realpathSync(program);
  } catch {
    // It is found in another way.
  }
  const runner = /\/node_modules\/(jest|jest-cli|vitest|mocha)\//.exec(real);
  if (runner && isMainThread) {
    // All of them have to fail, not only the first.
    process.argv = process.argv.filter((word) => !/^(?:--bail(?:=.*)?|-b)$/.test(word));
    if (runner[1] === 'vitest' && !process.env[MARK]) reportVitest();
  }
  changeAssert();
  changeModules();
  changeDefining();
  if (FILES.has(real) && !runsBelow()) {
    followNode(real);
    follows(relative(real), 'node');
    // A program ends as its tests do.
    if (TOLD) process.on('exit', (code) => ended(`${relative(real)}::`, code ? 'failed' : 'passed'));
    alone();
  }
}

try {
  start();
} catch {
  // Then nothing is changed, and nothing is said.
}
})();
