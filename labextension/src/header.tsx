/** The first line: is the panel connected, and with what? */

import React from 'react';

import type { Status } from './model';

const WORDS: Record<Status, string> = {
  connected: 'connected',
  waiting: 'waiting',
  'not-loaded': 'not loaded',
  restarting: 'restarting',
  incompatible: 'incompatible',
  'no-kernel': 'no kernel'
};

export function Header(props: { status: Status; document: string; kernel: string }): React.JSX.Element {
  const where = [props.document, props.kernel].filter(Boolean).join(' · ');
  return (
    <header className="zad-Header">
      <span className={`zad-Header-dot zad-mod-${props.status}`} aria-hidden="true" />
      <b>zad</b>
      <span className="zad-Header-where" title={where}>
        {where}
      </span>
      <span className="zad-Header-status" role="status">
        {WORDS[props.status]}
      </span>
    </header>
  );
}
