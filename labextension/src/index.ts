/** The JupyterLab plugin (it also runs in Notebook 7): puts the parts together, and has no logic of its own. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { Connection } from './connection';
import { Follower } from './follow';
import { zadIcon } from './icon';
import { Model } from './model';
import { ZadPanel } from './panel';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'zad-jupyter-panel:plugin',
  description: 'Shows which rule every call of a gradient got.',
  autoStart: true,
  optional: [INotebookTracker, IConsoleTracker, ILabShell, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ) => {
    const model = new Model();
    const connection = new Connection(model);
    const follower = new Follower(labShell ?? app.shell, notebooks, consoles);
    const follow = (): void => connection.follow(follower.context, follower.name);
    follower.changed.connect(follow);
    follow();

    const panel = new ZadPanel(model, follower);
    app.shell.add(panel, 'right', { rank: 900 });
    restorer?.add(panel, panel.id);
    panel.disposed.connect(() => connection.dispose());
    window.addEventListener('pagehide', () => connection.dispose());

    const command = 'zad:show';
    app.commands.addCommand(command, {
      label: 'Show the zad Panel',
      icon: zadIcon,
      execute: () => app.shell.activateById(panel.id)
    });
    palette?.addItem({ command, category: 'zad' });
  }
};

export default plugin;
