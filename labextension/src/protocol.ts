/**
 * What the kernel and the panel say to each other, and how a message that came over the wire is believed.
 *
 * The kernel's end is zad_jupyter/notebook/panel.py; the two are kept in step by `PROTOCOL`.
 */

export const PROTOCOL = 1;

/** The comm target, and the comm that `comm_info` finds in a kernel which has loaded zad_jupyter. */
export const TARGET = 'zad_jupyter';
export const BEACON = 'zad_jupyter-beacon';

export const OUTCOMES = ['hit', 'opted-out', 'recursed', 'inactive', 'error'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One call of the selection tree. */
export interface Call {
  readonly outcome: Outcome;
  /** As it is displayed: "det", "np.sin". */
  readonly function: string;
  readonly types: readonly string[];
  /** The rule that was chosen, such as "det(a: ndarray)", and where it stands. */
  readonly rule: string | null;
  readonly rulePlace: string | null;
  /** Where the call itself stands: "cell 4:1". */
  readonly place: string | null;
  /** How often it ran; 0 in a tree that was made without running anything. */
  readonly count: number;
  readonly note: string;
  readonly children: readonly Call[];
  /** Children that the kernel left out of a very large tree. */
  readonly hidden: number;
}

/** Everything that the panel shows; a delta carries only the keys that changed. */
export interface State {
  readonly protocol: number;
  readonly tree: Call | null;
  /** Why the kernel could not read its own tree, if it could not. */
  readonly problem: string | null;
}

export type Message =
  | { readonly type: 'hello'; readonly protocol: number }
  | { readonly type: 'snapshot'; readonly seq: number; readonly state: State }
  | { readonly type: 'delta'; readonly seq: number; readonly state: Partial<State> };

export const SNAPSHOT_REQUEST = { type: 'snapshot?' } as const;

type Json = Record<string, unknown>;

const isObject = (x: unknown): x is Json => typeof x === 'object' && x !== null && !Array.isArray(x);
const text = (x: unknown): string | null => (typeof x === 'string' && x !== '' ? x : null);
const number = (x: unknown, otherwise: number): number => (typeof x === 'number' && Number.isFinite(x) ? x : otherwise);

/** The message in `data`, or null when it is not one that this panel knows. */
export function readMessage(data: unknown): Message | null {
  if (!isObject(data)) {
    return null;
  }
  if (data.type === 'hello') {
    return { type: 'hello', protocol: number(data.protocol, 0) };
  }
  if (!Number.isInteger(data.seq) || !isObject(data.state)) {
    return null;
  }
  const seq = data.seq as number;
  const changed = readState(data.state);
  if (data.type === 'delta') {
    return { type: 'delta', seq, state: changed };
  }
  if (data.type === 'snapshot') {
    // A kernel that does not say its protocol is older than the first one.
    return { type: 'snapshot', seq, state: { protocol: 0, tree: null, problem: null, ...changed } };
  }
  return null;
}

function readState(data: Json): Partial<State> {
  return {
    ...('protocol' in data && { protocol: number(data.protocol, 0) }),
    ...('tree' in data && { tree: readCall(data.tree) }),
    ...('problem' in data && { problem: text(data.problem) })
  };
}

/** A call and all below it. An outcome that we do not know is shown as an error rather than dropped. */
export function readCall(data: unknown): Call | null {
  if (!isObject(data) || typeof data.function !== 'string') {
    return null;
  }
  const children = Array.isArray(data.children) ? data.children : [];
  return {
    outcome: OUTCOMES.find(known => known === data.outcome) ?? 'error',
    function: data.function,
    types: Array.isArray(data.types) ? data.types.map(String) : [],
    rule: text(data.rule),
    rulePlace: text(data.rulePlace),
    place: text(data.place),
    count: number(data.count, 0),
    note: text(data.note) ?? '',
    children: children.map(readCall).filter(call => call !== null),
    hidden: number(data.hidden, 0)
  };
}
