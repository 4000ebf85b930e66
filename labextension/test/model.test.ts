import { beforeEach, describe, expect, it } from 'vitest';

import { explanation, sentence } from '../src/sentences';
import { Model, navigate, size } from '../src/model';
import type { Call, Outcome } from '../src/protocol';

const call = (outcome: Outcome, name: string, children: Call[] = [], rest: Partial<Call> = {}): Call => ({
  outcome,
  function: name,
  types: ['ndarray'],
  rule: null,
  rulePlace: null,
  place: null,
  count: 0,
  note: '',
  hidden: 0,
  children,
  ...rest
});

const loss = call('recursed', 'loss', [
  call('opted-out', 'det', [call('hit', 'np.diag'), call('hit', 'np.prod')]),
  call('hit', 'np.tanh', [], { count: 12 }),
  call('inactive', 'len')
]);

const snapshot = (seq: number, tree: Call | null, protocol = 1) =>
  ({ type: 'snapshot', seq, state: { protocol, tree, problem: null } }) as const;
const delta = (seq: number, tree: Call | null) => ({ type: 'delta', seq, state: { tree } }) as const;

let model: Model;
let changes: number;

beforeEach(() => {
  model = new Model();
  model.expectSnapshot();
  changes = 0;
  model.changed.connect(() => {
    changes++;
  });
});

const functions = (): string[] => model.rows().map(row => row.call.function);
const key = (name: string): string => model.rows().find(row => row.call.function === name)!.key;

describe('numbered messages', () => {
  it('connect with the first snapshot', () => {
    expect(model.status).toBe('no-kernel');
    model.receive(snapshot(1, loss));
    expect([model.status, changes]).toEqual(['connected', 1]);
  });

  it('that follow each other are taken in', () => {
    model.receive(snapshot(5, null));
    expect(model.receive(delta(6, loss))).toBe(false);
    expect(model.tree).toBe(loss);
  });

  it('with a gap lead to one question, however many follow', () => {
    model.receive(snapshot(5, loss));
    expect([model.receive(delta(7, null)), model.receive(delta(8, null))]).toEqual([true, false]);
    expect(model.tree).toBe(loss);
  });

  it('are in step again after the answer', () => {
    model.receive(snapshot(5, loss));
    model.receive(delta(7, null));
    model.receive(snapshot(9, null));
    expect(model.receive(delta(10, loss))).toBe(false);
    expect(model.tree).toBe(loss);
    expect(model.receive(delta(12, null))).toBe(true);
  });

  it('from before the snapshot change nothing', () => {
    model.receive(snapshot(5, loss));
    expect(model.receive(delta(4, null))).toBe(false);
    expect(model.tree).toBe(loss);
  });

  it('before the snapshot that was asked for wait for it', () => {
    expect(model.receive(delta(1, loss))).toBe(false);
    expect(model.tree).toBeNull();
  });
});

describe('the status', () => {
  it('forgets the tree of a kernel that is gone', () => {
    model.receive(snapshot(1, loss));
    model.setStatus('restarting', 'The kernel is restarting.');
    expect([model.status, model.reason, model.tree]).toEqual(['restarting', 'The kernel is restarting.', null]);
  });

  it('is not announced twice', () => {
    model.setStatus('waiting', 'Wait.');
    model.setStatus('waiting', 'Wait.');
    expect(changes).toBe(1);
  });

  it('says which half is the older one', () => {
    model.receive(snapshot(1, loss, 2));
    expect([model.status, model.tree]).toEqual(['incompatible', null]);
    expect(model.reason).toMatch(/panel is older.*reload this page/);
    model.receive(snapshot(2, loss, 0));
    expect(model.reason).toMatch(/kernel is older/);
  });

  it('comes with a reason whenever there is no tree', () => {
    model.receive(snapshot(1, null));
    expect(model.reason).toMatch(/No gradient/);
    model.receive({ type: 'delta', seq: 2, state: { problem: 'KeyError: 3' } });
    expect(model.reason).toMatch(/KeyError: 3/);
    model.receive({ type: 'delta', seq: 3, state: { tree: loss, problem: null } });
    expect(model.reason).toBe('');
  });
});

describe('the rows', () => {
  beforeEach(() => {
    model.receive(snapshot(1, loss));
  });

  it('are a small tree, opened out', () => {
    expect(functions()).toEqual(['loss', 'det', 'np.diag', 'np.prod', 'np.tanh', 'len']);
    expect(model.rows().map(row => row.level)).toEqual([1, 2, 3, 3, 2, 2]);
  });

  it('know their place among their siblings', () => {
    const len = model.rows().at(-1)!;
    expect([len.position, len.siblings, len.open]).toEqual([3, 3, undefined]);
  });

  it('close, and stay closed in the next tree', () => {
    model.toggle(key('det'), false);
    expect(functions()).toEqual(['loss', 'det', 'np.tanh', 'len']);
    model.receive(delta(2, { ...loss }));
    expect(functions()).toEqual(['loss', 'det', 'np.tanh', 'len']);
  });

  it('of a large tree begin with the first two levels', () => {
    const layer = call('recursed', 'layer', Array.from({ length: 30 }, () => call('hit', 'sin')));
    const large = call('recursed', 'net', Array.from({ length: 10 }, () => layer));
    model.receive(delta(2, large));
    expect(size(large)).toBe(311);
    expect(model.rows()).toHaveLength(11);
  });

  it('have keys of their own, also for equal calls', () => {
    model.receive(delta(2, call('recursed', 'f', [call('hit', 'sin'), call('hit', 'sin')])));
    expect(new Set(model.rows().map(row => row.key)).size).toBe(3);
  });

  it('are tallied by outcome, runs counted', () => {
    expect(Object.fromEntries(model.tally())).toEqual({ hit: 14, 'opted-out': 1, recursed: 1, inactive: 1, error: 0 });
  });
});

describe('the keyboard', () => {
  beforeEach(() => {
    model.receive(snapshot(1, loss));
  });

  const press = (name: string, pressed: string) => navigate(model.rows(), key(name), pressed);

  it.each([
    ['loss', 'ArrowDown', 'det'],
    ['det', 'ArrowUp', 'loss'],
    ['det', 'Home', 'loss'],
    ['det', 'End', 'len'],
    ['det', 'ArrowRight', 'np.diag'],
    ['np.prod', 'ArrowLeft', 'det'],
    ['len', 'ArrowLeft', 'loss']
  ])('goes from %s by %s to %s', (from, pressed, to) => {
    expect(press(from, pressed)).toEqual({ go: key(to) });
  });

  it.each([
    ['loss', 'ArrowUp'],
    ['len', 'ArrowDown'],
    ['np.diag', 'ArrowRight'],
    ['np.diag', 'Enter'],
    ['loss', 'x']
  ])('on %s, %s leads nowhere', (from, pressed) => {
    expect(press(from, pressed)).toBeNull();
  });

  it('opens and closes', () => {
    const det = key('det');
    expect(press('det', 'ArrowLeft')).toEqual({ toggle: det, open: false });
    model.toggle(det, false);
    expect(press('det', 'ArrowRight')).toEqual({ toggle: det, open: true });
    expect(press('det', 'Enter')).toEqual({ toggle: det, open: true });
  });

  it('begins at the top when nothing is selected, and survives an empty tree', () => {
    expect(navigate(model.rows(), null, 'ArrowDown')).toEqual({ go: key('det') });
    expect(navigate([], null, 'ArrowDown')).toBeNull();
  });
});

describe('a call in words', () => {
  it('is one sentence', () => {
    const det = call('opted-out', 'det', [], { types: ['Tri'], count: 3, place: 'cell 4:5' });
    expect(sentence(det)).toBe('det(Tri) opted out, 3 times, at cell 4:5');
  });

  it('names the rule and where it stands', () => {
    const det = call('opted-out', 'det', [], { rule: 'det(a: Tri)', rulePlace: 'cell 6:1' });
    expect(explanation(det)).toBe("The rule det(a: Tri), at cell 6:1, opts out: the function's own body is differentiated.");
    const tanh = call('hit', 'np.tanh', [], { rule: 'tanh(x: ndarray)', rulePlace: 'shipped' });
    expect(explanation(tanh)).toBe('The rule tanh(x: ndarray), shipped, was used.');
  });
});
