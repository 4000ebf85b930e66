/**
 * Keeps the model attached to one kernel: through its restarts, and through loading and unloading of zad_jupyter.
 *
 * Messages are sent and read by hand rather than through `kernel.createComm`, because Lab lets only one connection to a
 * kernel handle comms: in a console on a notebook's kernel `createComm` throws. `iopubMessage` reaches every connection.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { Model } from './model';
import { BEACON, PROTOCOL, readMessage, SNAPSHOT_REQUEST, TARGET } from './protocol';

export class Connection implements IDisposable {
  private _context: ISessionContext | null | undefined = undefined; // until we are told whom to follow
  private _name = '';
  private _link: Link | null = null;
  /** Every attempt has a number; one that finds itself overtaken after an `await` gives up. */
  private _attempt = 0;
  private _disposed = false;

  constructor(private readonly model: Model) {}

  /** Follow the kernel of `context`, which the user knows as `name`; null when nothing is open. */
  follow(context: ISessionContext | null, name = ''): void {
    this._name = name;
    if (context === this._context) {
      return;
    }
    Signal.disconnectReceiver(this);
    this._context = context;
    if (context) {
      context.kernelChanged.connect(this.restart, this);
      context.statusChanged.connect(this.onStatus, this);
      context.connectionStatusChanged.connect(this.restart, this);
      context.iopubMessage.connect(this.onMessage, this);
    }
    this.restart();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Also when the page goes away: the kernel then need not find out by itself. */
  dispose(): void {
    this._disposed = true;
    this._attempt++;
    Signal.disconnectReceiver(this);
    this.unlink();
  }

  private restart(): void {
    void this.attach(false);
  }

  private onStatus(_: ISessionContext, status: Kernel.Status): void {
    const lost = status === 'restarting' || status === 'autorestarting' || status === 'dead';
    if (lost || this.model.status === 'restarting' || this.model.status === 'no-kernel') {
      this.restart();
    }
  }

  private onMessage(_: ISessionContext, received: KernelMessage.IMessage): void {
    const message = received as KernelMessage.IIOPubMessage; // the signal's type says less than its name
    if (KernelMessage.isCommMsgMsg(message)) {
      const data = readMessage(message.content.data);
      if (message.content.comm_id === BEACON && data?.type === 'hello') {
        void this.attach(true);
      } else if (message.content.comm_id === this._link?.id && data && this.model.receive(data)) {
        this._link.send('comm_msg', { data: SNAPSHOT_REQUEST });
      }
    } else if (KernelMessage.isCommCloseMsg(message) && message.content.comm_id === this._link?.id) {
      this._link = null;
      this.restart();
    }
  }

  private unlink(): void {
    this._link?.close();
    this._link = null;
  }

  /** Say hello to the kernel, as far as one gets; `loaded` when it has just said that zad_jupyter is there. */
  private async attach(loaded: boolean): Promise<void> {
    const attempt = ++this._attempt;
    const kernel = this._context?.session?.kernel ?? null;
    this.unlink();
    if (!this.ready(kernel)) {
      return;
    }
    this.model.setStatus('waiting', 'Waiting for the kernel. If it is busy, this ends with the cell.');
    try {
      const language = (await kernel.info).language_info.name;
      if (!loaded && !(await knowsTarget(kernel))) {
        if (attempt === this._attempt) {
          const python = language === 'python';
          this.model.setStatus(
            'not-loaded',
            python ? 'This kernel has not loaded zad_jupyter.' : `This kernel runs ${language}; zad_jupyter needs Python.`
          );
        }
        return;
      }
      const link = await Link.prepare(kernel);
      if (attempt !== this._attempt) {
        link.close();
        return;
      }
      this._link = link;
      this.model.expectSnapshot();
      link.send('comm_open', { target_name: TARGET, data: { protocol: PROTOCOL, page: PAGE } });
      link.send('comm_msg', { data: SNAPSHOT_REQUEST });
    } catch (error) {
      // A kernel that goes away in mid-question rejects; its next status brings us here again.
      if (attempt === this._attempt && !this._disposed) {
        this.model.setStatus('waiting', `The kernel did not answer (${String(error)}).`);
      }
    }
  }

  /** Whether there is a kernel to talk to; if not, the model says why. */
  private ready(kernel: Kernel.IKernelConnection | null): kernel is Kernel.IKernelConnection {
    if (this._disposed) {
      return false;
    }
    if (!this._context) {
      this.model.setStatus('no-kernel', 'Open a notebook or a console: the panel follows the one used last.');
    } else if (!kernel || kernel.isDisposed || kernel.status === 'dead') {
      this.model.setStatus('no-kernel', `${this._name || 'This notebook'} has no kernel.`);
    } else if (kernel.status === 'restarting' || kernel.status === 'autorestarting') {
      this.model.setStatus('restarting', 'The kernel is restarting.');
    } else if (kernel.connectionStatus !== 'connected') {
      // Right after a restart the connection is made anew: that still is the restart, for who looks at it.
      if (this.model.status !== 'restarting') {
        this.model.setStatus('waiting', 'Waiting for the connection to the kernel.');
      }
    } else {
      return true;
    }
    return false;
  }
}

/**
 * Which page this is, the same before and after a reload: the last words of a page that goes may never be heard, so the
 * kernel takes a panel of the same page for the old one's successor. A duplicated tab is a new page.
 */
const PAGE = pageId();

function pageId(): string {
  const key = 'zad-jupyter-panel-page';
  const [entry] = performance.getEntriesByType?.('navigation') ?? [];
  const reloaded = (entry as PerformanceNavigationTiming | undefined)?.type === 'reload';
  const id = (reloaded && sessionStorage.getItem(key)) || UUID.uuid4();
  sessionStorage.setItem(key, id);
  return id;
}

/** Opening a target that a kernel does not know prints an error in the user's notebook, so: ask first. */
async function knowsTarget(kernel: Kernel.IKernelConnection): Promise<boolean> {
  const { content } = await kernel.requestCommInfo({ target_name: TARGET });
  return content.status === 'ok' && Object.keys(content.comms).length > 0;
}

/** One comm, from this page to one kernel. */
class Link {
  readonly id = UUID.uuid4();

  private constructor(
    private readonly kernel: Kernel.IKernelConnection,
    private readonly subshell: string | null
  ) {}

  /** Where the kernel has subshells our messages go through one of our own, and need not wait for the end of a cell. */
  static async prepare(kernel: Kernel.IKernelConnection): Promise<Link> {
    if (!kernel.supportsSubshells) {
      return new Link(kernel, null);
    }
    const reply = await kernel.requestCreateSubshell({}).done;
    return new Link(kernel, reply.content.subshell_id ?? null);
  }

  send(msgType: 'comm_open' | 'comm_msg' | 'comm_close', content: object): void {
    const options = {
      msgType,
      channel: 'shell',
      username: this.kernel.username,
      session: this.kernel.clientId,
      subshellId: this.subshell ?? this.kernel.subshellId,
      content: { data: {}, ...content, comm_id: this.id }
    };
    const message = KernelMessage.createMessage(options as KernelMessage.IOptions<KernelMessage.ICommMsgMsg<'shell'>>);
    this.kernel.sendShellMessage(message, false, true);
  }

  close(): void {
    if (this.kernel.isDisposed || this.kernel.connectionStatus !== 'connected' || this.kernel.status === 'restarting') {
      return; // the comm went with the kernel, or will be pruned by it
    }
    this.send('comm_close', {});
    if (this.subshell !== null) {
      this.kernel.requestDeleteSubshell({ subshell_id: this.subshell }, true);
    }
  }
}
