/**
 * The panel's state, with nothing of Jupyter or React in it: what was received, what is open, what is selected.
 *
 * Views read it and listen to `changed`; the connection writes it through `receive` and `setStatus`.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Call, Message, Outcome, State } from './protocol';
import { OUTCOMES, PROTOCOL } from './protocol';

export type Status = 'connected' | 'waiting' | 'not-loaded' | 'restarting' | 'incompatible' | 'no-kernel';

/** One visible line of the tree. */
export interface Row {
  /** Names the call in this tree and, as far as possible, in the next: "0:loss/2:det". */
  readonly key: string;
  readonly call: Call;
  readonly level: number;
  readonly position: number;
  readonly siblings: number;
  /** undefined for a call without children. */
  readonly open: boolean | undefined;
}

/** Trees up to this many calls are shown opened out. */
const SMALL = 200;

const EMPTY: State = { protocol: PROTOCOL, tree: null, problem: null };

export class Model {
  private _status: Status = 'no-kernel';
  private _reason = '';
  private _state: State = EMPTY;
  private _seq: number | null = null;
  private _asked = false;
  private _toggled = new Map<string, boolean>();
  private _selected: string | null = null;
  private _changed = new Signal<this, void>(this);

  /** Emitted after every change that a view may have to show. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get status(): Status {
    return this._status;
  }

  /** A sentence that says why there is nothing to see; empty when there is. */
  get reason(): string {
    if (this._reason || this._status !== 'connected') {
      return this._reason;
    }
    if (this._state.problem) {
      return `The kernel could not read its selection tree: ${this._state.problem}`;
    }
    return this._state.tree ? '' : 'No gradient has been taken yet in this kernel.';
  }

  get tree(): Call | null {
    return this._state.tree;
  }

  get selected(): string | null {
    return this._selected;
  }

  /** Not connected (any more): what was shown belongs to another kernel, or to the one before the restart. */
  setStatus(status: Exclude<Status, 'connected'>, reason: string): void {
    if (this._status === status && this._reason === reason) {
      return;
    }
    this._status = status;
    this._reason = reason;
    this._state = EMPTY;
    this._selected = null;
    this.expectSnapshot();
    this._changed.emit();
  }

  /** A new comm: numbers begin again, and the first snapshot is on its way. */
  expectSnapshot(): void {
    this._seq = null;
    this._asked = true;
  }

  /** Takes a message in. Returns true when one was missed: the connection then asks for a snapshot. */
  receive(message: Message): boolean {
    if (message.type === 'hello') {
      return false;
    }
    if (message.type === 'snapshot') {
      this._seq = message.seq;
      this._asked = false;
      this._state = message.state;
      this.settle(message.state.protocol);
      return false;
    }
    if (this._seq !== null && message.seq <= this._seq) {
      return false; // from before the snapshot
    }
    if (this._seq === null || message.seq !== this._seq + 1) {
      const ask = !this._asked;
      this._asked = true;
      return ask;
    }
    this._seq = message.seq;
    this._state = { ...this._state, ...message.state };
    this.settle(this._state.protocol);
    return false;
  }

  private settle(protocol: number): void {
    if (protocol === PROTOCOL) {
      this._status = 'connected';
      this._reason = '';
    } else {
      this._status = 'incompatible';
      const [older, remedy] =
        protocol > PROTOCOL ? ['panel', 'reload this page'] : ['kernel', 'restart it after updating zad_jupyter'];
      this._reason = `The ${older} is older than its other half (protocol ${protocol} there, ${PROTOCOL} here): ${remedy}.`;
      this._state = EMPTY;
    }
    this._changed.emit();
  }

  // -- the tree as it stands on the screen

  /** The visible lines, top to bottom. */
  rows(): Row[] {
    const rows: Row[] = [];
    const tree = this._state.tree;
    if (!tree) {
      return rows;
    }
    const small = size(tree) <= SMALL;
    const visit = (call: Call, parent: string, level: number, index: number, siblings: number): void => {
      const key = `${parent}${index}:${call.function}`;
      const folds = call.children.length > 0 || call.hidden > 0;
      const open = folds ? (this._toggled.get(key) ?? (small || level === 1)) : undefined;
      rows.push({ key, call, level, position: index + 1, siblings, open });
      if (open) {
        call.children.forEach((child, i) => visit(child, `${key}/`, level + 1, i, call.children.length));
      }
    };
    visit(tree, '', 1, 0, 1);
    return rows;
  }

  /** Open or close a call; a choice that is remembered for the trees that follow. */
  toggle(key: string, open: boolean): void {
    this._toggled.set(key, open);
    this._changed.emit();
  }

  select(key: string | null): void {
    if (key !== this._selected) {
      this._selected = key;
      this._changed.emit();
    }
  }

  /** How many calls ended in each outcome; a call that ran n times counts n times. */
  tally(): Map<Outcome, number> {
    const tally = new Map<Outcome, number>(OUTCOMES.map(outcome => [outcome, 0]));
    const visit = (call: Call): void => {
      tally.set(call.outcome, tally.get(call.outcome)! + Math.max(call.count, 1));
      call.children.forEach(visit);
    };
    if (this._state.tree) {
      visit(this._state.tree);
    }
    return tally;
  }
}

/** The number of calls in a tree. */
export function size(call: Call): number {
  return call.children.reduce((sum, child) => sum + size(child), 1);
}

/**
 * Where a key pressed on the tree leads (the ARIA tree pattern): to another row, or to a row opened or closed.
 * null when the key means nothing here.
 */
export function navigate(
  rows: readonly Row[],
  key: string | null,
  pressed: string
): { readonly go: string } | { readonly toggle: string; readonly open: boolean } | null {
  const at = Math.max(
    rows.findIndex(row => row.key === key),
    0
  );
  const row = rows[at];
  const go = (i: number): { go: string } | null => (rows[i] ? { go: rows[i].key } : null);
  if (!row) {
    return null;
  }
  switch (pressed) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'Home':
      return go(0);
    case 'End':
      return go(rows.length - 1);
    case 'ArrowRight':
      return row.open === false ? { toggle: row.key, open: true } : row.open && rows[at + 1]?.level === row.level + 1 ? go(at + 1) : null;
    case 'ArrowLeft':
      return row.open
        ? { toggle: row.key, open: false }
        : go(rows.slice(0, at).findLastIndex(above => above.level < row.level));
    case 'Enter':
    case ' ':
      return row.open === undefined ? null : { toggle: row.key, open: !row.open };
    default:
      return null;
  }
}
