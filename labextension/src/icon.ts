/** The panel's icon: a call, and the three ways that it can go. */

import { LabIcon } from '@jupyterlab/ui-components';

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <circle cx="5" cy="12" r="2.6"/><circle cx="19" cy="5" r="2.6"/><circle cx="19" cy="12" r="2.6"/><circle cx="19" cy="19" r="2.6"/>
    <path d="M7 11.2h10v1.6H7z"/><path d="M6.4 10.2 16.6 4.4l.8 1.4-10.2 5.8z"/><path d="m6.4 13.8 10.2 5.8.8-1.4-10.2-5.8z"/>
  </g>
</svg>`;

export const zadIcon = new LabIcon({ name: 'zad:calls', svgstr: svg });
