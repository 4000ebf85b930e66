/** Calls put into words: for tooltips, screen readers and the details of the selected call. */

import type { Call, Outcome } from './protocol';

export const word = (outcome: Outcome): string => outcome.replace('-', ' ');

export const signature = (call: Call): string => `(${call.types.join(', ')})`;

/** "det(Tri) opted out, 3 times, at cell 4:5". */
export function sentence(call: Call): string {
  const times = call.count > 1 ? `, ${call.count} times` : '';
  const place = call.place ? `, at ${call.place}` : '';
  return `${call.function}${signature(call)} ${word(call.outcome)}${times}${place}`;
}

/** Why a call ended as it did. */
export function explanation(call: Call): string {
  const rule = ['The rule', call.rule].filter(Boolean).join(' ');
  const place = call.rulePlace === null ? '' : `, ${call.rulePlace === 'shipped' ? '' : 'at '}${call.rulePlace},`;
  switch (call.outcome) {
    case 'hit':
      return `${rule}${place} was used.`;
    case 'opted-out':
      return `${rule}${place} opts out: the function's own body is differentiated.`;
    case 'recursed':
      return 'No rule applies: its own body is differentiated.';
    case 'inactive':
      return 'Nothing differentiable flows through it: it is simply called.';
    case 'error':
      return 'The gradient failed here.';
  }
}
