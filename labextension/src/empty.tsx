/** What stands in the place of the tree when there is none: why, and what to do about it. */

import React from 'react';

import type { Status } from './model';

export function Empty(props: { status: Status; reason: string; load: (() => void) | null }): React.JSX.Element {
  return (
    <div className="zad-Empty">
      <p>{props.reason}</p>
      {props.status === 'connected' && (
        <p className="zad-Empty-hint">
          Run a cell such as <code>gradient(f, x)</code>, and every call that it meets is listed here, with the rule it got.
        </p>
      )}
      {props.load && (
        <button className="zad-Empty-load jp-mod-styled" onClick={props.load}>
          Insert <code>%load_ext zad_jupyter</code>
        </button>
      )}
    </div>
  );
}
