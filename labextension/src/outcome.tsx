/** An outcome is an icon and a word, and only then a colour. */

import React from 'react';

import type { Outcome } from './protocol';
import { word } from './sentences';

const ICONS: Record<Outcome, string> = { hit: '✓', 'opted-out': '↷', recursed: '↓', inactive: '–', error: '✕' };

export function Badge({ outcome }: { outcome: Outcome }): React.JSX.Element {
  return (
    <span className={`zad-Badge zad-mod-${outcome}`}>
      <span className="zad-Badge-icon" aria-hidden="true">
        {ICONS[outcome]}
      </span>
      {word(outcome)}
    </span>
  );
}

/** How many calls ended so: "✓ hit 31". */
export function Chip({ outcome, count }: { outcome: Outcome; count: number }): React.JSX.Element {
  return (
    <li className={`zad-Chip zad-mod-${outcome}`} data-outcome={outcome}>
      <span className="zad-Badge-icon" aria-hidden="true">
        {ICONS[outcome]}
      </span>
      {word(outcome)} <b>{count.toLocaleString()}</b>
    </li>
  );
}
