/**
 * Which notebook or console does the panel speak of? The one that had the focus last, for as long as it is open.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { ConsolePanel, IConsoleTracker } from '@jupyterlab/console';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

const LOAD = '%load_ext zad_jupyter';

export class Follower {
  private _followed: NotebookPanel | ConsolePanel | null = null;
  private _changed = new Signal<this, void>(this);

  constructor(
    shell: JupyterFrontEnd.IShell,
    private readonly notebooks: INotebookTracker | null,
    private readonly consoles: IConsoleTracker | null
  ) {
    // The trackers alone would miss the way back from a console to the same notebook; the shell alone misses
    // a notebook that was there before us, and Notebook 7 has no such signal.
    shell.currentChanged?.connect((_, change) => this.consider(change.newValue));
    notebooks?.currentChanged.connect((_, notebook) => this.consider(notebook));
    consoles?.currentChanged.connect((_, panel) => this.consider(panel));
    this.consider(notebooks?.currentWidget ?? consoles?.currentWidget ?? null);
  }

  /** Emitted when another document is followed, or when the followed one is renamed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get context(): ISessionContext | null {
    return this._followed?.sessionContext ?? null;
  }

  /** What the user calls it; Lab gives a notebook's console the notebook's own name. */
  get name(): string {
    const label = this._followed?.title.label ?? '';
    return !this._followed || isNotebook(this._followed) || /^console/i.test(label) ? label : `console ${label}`;
  }

  /** Puts the line that loads zad_jupyter where the user can run it: in a new cell, or at the console's prompt. */
  insertLoadCell(): void {
    const followed = this._followed;
    if (!followed) {
      return;
    }
    if (isNotebook(followed)) {
      const notebook = followed.content;
      NotebookActions.insertAbove(notebook);
      NotebookActions.changeCellType(notebook, 'code');
      notebook.activeCell?.model.sharedModel.setSource(LOAD);
    } else {
      followed.console.promptCell?.model.sharedModel.setSource(LOAD);
    }
    followed.activate();
  }

  private consider(widget: Widget | null): void {
    const found =
      this.notebooks?.find(notebook => notebook === widget) ?? this.consoles?.find(panel => panel === widget) ?? null;
    if (!found || found === this._followed || found.isDisposed) {
      return;
    }
    this._followed?.title.changed.disconnect(this.renamed, this);
    this._followed?.disposed.disconnect(this.closed, this);
    this._followed = found;
    found.title.changed.connect(this.renamed, this);
    found.disposed.connect(this.closed, this);
    this._changed.emit();
  }

  private renamed(): void {
    this._changed.emit();
  }

  private closed(): void {
    this._followed = null;
    this.consider(this.notebooks?.currentWidget ?? this.consoles?.currentWidget ?? null);
    if (!this._followed) {
      this._changed.emit();
    }
  }
}

function isNotebook(panel: NotebookPanel | ConsolePanel): panel is NotebookPanel {
  return !('console' in panel); // both are MainAreaWidgets, and have `content`
}
