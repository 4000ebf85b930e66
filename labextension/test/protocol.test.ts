import { describe, expect, it } from 'vitest';

import { readCall, readMessage } from '../src/protocol';

const det = {
  outcome: 'opted-out',
  function: 'det',
  types: ['Tri'],
  rule: 'det(a: Tri)',
  rulePlace: 'cell 6:1',
  place: 'cell 4:5',
  count: 3,
  note: '',
  children: [{ outcome: 'hit', function: 'np.prod', types: ['ndarray'], children: [] }]
};

describe('a message', () => {
  it('is read with its tree', () => {
    const message = readMessage({ type: 'snapshot', seq: 1, state: { protocol: 1, tree: det, problem: null } });
    expect(message).toMatchObject({ type: 'snapshot', seq: 1, state: { protocol: 1, tree: { function: 'det', count: 3 } } });
  });

  it('that is a delta holds only the keys that were sent', () => {
    const message = readMessage({ type: 'delta', seq: 2, state: { problem: 'KeyError' } });
    expect(message).toEqual({ type: 'delta', seq: 2, state: { problem: 'KeyError' } });
  });

  it('that deletes the tree says null, and does not leave it out', () => {
    expect(readMessage({ type: 'delta', seq: 2, state: { tree: null } })).toEqual({
      type: 'delta',
      seq: 2,
      state: { tree: null }
    });
  });

  it('without a protocol is that of protocol 0', () => {
    expect(readMessage({ type: 'snapshot', seq: 1, state: {} })).toMatchObject({ state: { protocol: 0, tree: null } });
  });

  it.each([
    ['nothing', undefined],
    ['a string', 'snapshot'],
    ['an array', [1]],
    ['of an unknown type', { type: 'graph', seq: 1, state: {} }],
    ['without a number', { type: 'delta', state: {} }],
    ['whose number is not whole', { type: 'delta', seq: 1.5, state: {} }],
    ['without a state', { type: 'snapshot', seq: 1 }]
  ])('%s is not believed', (_, data) => {
    expect(readMessage(data)).toBeNull();
  });
});

describe('a call', () => {
  it('gets defaults for what was not sent', () => {
    expect(readCall(det)?.children[0]).toEqual({
      outcome: 'hit',
      function: 'np.prod',
      types: ['ndarray'],
      rule: null,
      rulePlace: null,
      place: null,
      count: 0,
      note: '',
      children: [],
      hidden: 0
    });
  });

  it('whose outcome a newer kernel invented is shown as an error, not dropped', () => {
    expect(readCall({ ...det, outcome: 'postponed' })?.outcome).toBe('error');
  });

  it('that cannot be read is left out of its parent', () => {
    expect(readCall({ ...det, children: [null, { outcome: 'hit' }, det] })?.children).toHaveLength(1);
  });
});
