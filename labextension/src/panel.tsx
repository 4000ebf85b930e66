/** The sidebar widget: the header, and below it the tree or the reason why there is none. */

import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import { Calls } from './calls';
import { Empty } from './empty';
import type { Follower } from './follow';
import { Header } from './header';
import { zadIcon } from './icon';
import type { Model } from './model';

export class ZadPanel extends ReactWidget {
  constructor(
    private readonly model: Model,
    private readonly follower: Follower
  ) {
    super();
    this.id = 'zad-panel';
    this.addClass('zad-Panel');
    this.title.icon = zadIcon;
    this.title.caption = 'zad: which rule did every call get?';
    this.node.setAttribute('aria-label', 'zad');
    model.changed.connect(this.refresh, this);
    follower.changed.connect(this.refresh, this);
    this.refresh();
  }

  protected override render(): React.JSX.Element {
    const { model, follower } = this;
    const kernel = follower.context?.session?.kernel ? follower.context.kernelDisplayName : '';
    // A kernel for another language has no use for the button; its reason says so.
    const canLoad = model.status === 'not-loaded' && model.reason.includes('has not loaded');
    return (
      <>
        <Header status={model.status} document={follower.name} kernel={kernel} />
        {model.reason ? (
          <Empty status={model.status} reason={model.reason} load={canLoad ? () => follower.insertLoadCell() : null} />
        ) : (
          <Calls model={model} />
        )}
      </>
    );
  }

  private refresh(): void {
    this.node.dataset.status = this.model.status;
    this.update();
  }
}
