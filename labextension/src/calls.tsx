/**
 * The selection tree of the last gradient: every call that it met, and what became of it.
 *
 * An ARIA tree with a roving tab stop: arrows walk, open and close; Home, End and Enter work; Tab leaves it.
 */

import React, { useEffect, useRef } from 'react';

import type { Model, Row } from './model';
import { navigate } from './model';
import { Badge, Chip } from './outcome';
import type { Call } from './protocol';
import { OUTCOMES } from './protocol';
import { explanation, sentence, signature, word } from './sentences';

export function Calls({ model }: { model: Model }): React.JSX.Element {
  const rows = model.rows();
  const tally = model.tally();
  const total = [...tally.values()].reduce((sum, n) => sum + n, 0);
  const root = model.tree;
  const selected = rows.find(row => row.key === model.selected) ?? null;
  return (
    <>
      {root && (
        <div className="zad-Calls-title">
          <code>
            {root.function}
            <span className="zad-Row-types">{signature(root)}</span>
          </code>
          <span className="zad-Calls-total">{total === 1 ? 'one call' : `${total.toLocaleString()} calls`}</span>
        </div>
      )}
      <ul className="zad-Chips" aria-label="Outcomes">
        {OUTCOMES.filter(outcome => tally.get(outcome)).map(outcome => (
          <Chip key={outcome} outcome={outcome} count={tally.get(outcome)!} />
        ))}
      </ul>
      <Tree model={model} rows={rows} />
      {selected && <Details call={selected.call} />}
    </>
  );
}

function Tree({ model, rows }: { model: Model; rows: readonly Row[] }): React.JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const focus = useRef(false); // the keyboard moved the selection: bring the focus along
  const stop = rows.some(row => row.key === model.selected) ? model.selected : rows[0]?.key;

  useEffect(() => {
    if (focus.current) {
      focus.current = false;
      list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    }
  });

  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const step = navigate(rows, stop ?? null, event.key);
    if (!step) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    focus.current = true;
    if ('go' in step) {
      model.select(step.go);
    } else {
      model.toggle(step.toggle, step.open);
    }
  };

  return (
    <div ref={list} className="zad-Tree" role="tree" aria-label="Calls of the last gradient" onKeyDown={onKeyDown}>
      {rows.map(row => (
        <Line key={row.key} row={row} model={model} selected={row.key === model.selected} stop={row.key === stop} />
      ))}
    </div>
  );
}

function Line(props: { row: Row; model: Model; selected: boolean; stop: boolean }): React.JSX.Element {
  const { row, model } = props;
  const { call } = row;
  return (
    <div
      className="zad-Row"
      role="treeitem"
      data-outcome={call.outcome}
      data-function={call.function}
      data-count={call.count}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.open}
      aria-selected={props.selected}
      aria-label={sentence(call)}
      tabIndex={props.stop ? 0 : -1}
      title={sentence(call)}
      style={{ '--zad-level': row.level } as React.CSSProperties}
      onClick={() => model.select(row.key)}
      onFocus={() => model.select(row.key)}
      onDoubleClick={() => row.open !== undefined && model.toggle(row.key, !row.open)}
    >
      <span
        className="zad-Row-twisty"
        aria-hidden="true"
        onClick={event => {
          if (row.open !== undefined) {
            event.stopPropagation();
            model.toggle(row.key, !row.open);
          }
        }}
      >
        {row.open === undefined ? '' : row.open ? '▾' : '▸'}
      </span>
      <Badge outcome={call.outcome} />
      <code className="zad-Row-function">{call.function}</code>
      <code className="zad-Row-types">{signature(call)}</code>
      {call.count > 1 && <span className="zad-Row-count">×{call.count.toLocaleString()}</span>}
      {call.hidden > 0 && <span className="zad-Row-count">{call.hidden.toLocaleString()} calls not shown</span>}
      <span className="zad-Row-place">{call.place}</span>
    </div>
  );
}

/** The selected call, in full. */
function Details({ call }: { call: Call }): React.JSX.Element {
  return (
    <section className="zad-Details" aria-label="Selected call">
      <h4>
        <code>{call.function}</code>
        <code className="zad-Row-types">{signature(call)}</code> {word(call.outcome)}
      </h4>
      <p>{explanation(call)}</p>
      {call.note && <p>{call.note}</p>}
    </section>
  );
}
