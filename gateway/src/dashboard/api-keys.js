'use strict';
(() => {
  /** How often the visible list is read again. */
  const refreshMs = 15_000;
  const dayMs = 86_400_000;
  const linkForm = /^#sign-in=([0-9A-Za-z_-]{16,256})$/;
  const limitNames = ['requestsPerMinute', 'burst', 'connections', 'subscriptions', 'commandsPerSecond'];

  const byId = (id) => document.getElementById(id);
  const rows = document.querySelector('#keys tbody');
  const newKey = byId('new-key');
  const shownKey = byId('shown-key');
  const rotateKey = byId('rotate-key');
  const deleteKey = byId('delete-key');
  /** The answer of `GET /dashboard/me`. */
  let me = null;
  let wallets = [];
  /** The key that the open dialog edits. */
  let chosen = null;

  // --- The server.

  async function ask(path, body) {
    const changes = body !== undefined;
    const response = await fetch(`/dashboard/${path}`, {
      method: changes ? 'POST' : 'GET',
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        ...(changes ? { 'Content-Type': 'application/json' } : {}),
        ...(changes && me?.csrfToken ? { 'X-CSRF-Token': me.csrfToken } : {}),
      },
      ...(changes ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    // The session has ended, here or elsewhere.
    if (response.status === 401 && me?.account) await readMe();
    throw new Error(faultText(answer.error));
  }

  function faultText({ message, details }) {
    const fields = Object.entries(details?.fields ?? {}).map(([name, what]) => `${name} ${what}`);
    return fields.length === 0 ? message : fields.join('; ');
  }

  async function readMe() {
    me = await ask('me');
    drawAccount();
    if (me.account) await readKeys();
  }

  async function readKeys() {
    const { keys, unlisted } = await ask('keys');
    drawKeys(keys, unlisted);
  }

  // --- What is shown.

  function note(text, kind = 'plain') {
    byId('account-note').textContent = text;
    byId('account-note').dataset.kind = kind;
  }

  /** Runs `work`. If it fails, shows the error at `place`, or beside the list. */
  async function attempt(work, place = null) {
    try {
      if (place === null) note('');
      else place.textContent = '';
      await work();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (place === null) note(text, 'fault');
      else place.textContent = text;
    }
  }

  function drawAccount() {
    const { account, signIn } = me;
    const isOperator = account?.kind === 'operator';
    byId('account').textContent =
      account === null ? '' : isOperator ? 'operator: the keys of all' : `${account.wallet ?? account.id} · ${account.plan}`;
    byId('account-actions').hidden = account === null;
    byId('keys').hidden = account === null;
    byId('operator-fields').hidden = !isOperator;
    byId('operator-fields').disabled = !isOperator;
    byId('sign-in').hidden = account !== null;
    if (account === null) rows.replaceChildren();
    if (account === null && !signIn.open) byId('sign-in-how').textContent = signIn.why;
    drawWallets();
  }

  function drawWallets() {
    if (me === null || me.account !== null || !me.signIn.open) return byId('wallets').replaceChildren();
    if (wallets.length === 0) {
      const none = document.createElement('p');
      none.className = 'faint';
      none.textContent = 'No Solana wallet found in this browser. The operator can give you a sign-in link.';
      return byId('wallets').replaceChildren(none);
    }
    byId('wallets').replaceChildren(...wallets.map(walletButton));
  }

  function walletButton(wallet) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `Sign in with ${wallet.name}`;
    if (typeof wallet.icon === 'string' && wallet.icon.startsWith('data:image/')) {
      const icon = document.createElement('img');
      icon.src = wallet.icon;
      icon.alt = '';
      button.prepend(icon);
    }
    button.addEventListener('click', () => void attempt(() => whileBusy(button, () => signInWith(wallet))));
    return button;
  }

  async function whileBusy(button, work) {
    button.disabled = true;
    try {
      await work();
    } finally {
      button.disabled = false;
    }
  }

  function drawKeys(keys, unlisted) {
    // Do not replace a row that has the focus.
    const focused = rows.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    rows.replaceChildren(...keys.map(keyRow));
    if (focused !== null) rows.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
    byId('no-keys').hidden = keys.length > 0;
    byId('unlisted').hidden = unlisted === 0;
    byId('unlisted').textContent = `${unlisted} older keys are not listed here: sluice keys list shows all.`;
  }

  function keyRow(key) {
    const line = document.createElement('tr');
    line.dataset.id = key.id;
    const cells = [
      ['key', `${key.prefix}_…`, 'address'],
      ['label', key.label ?? '–', 'label'],
      ['plan', key.plan],
      ['scopes', key.scopes.join(', '), undefined, key.ipRanges.length === 0 ? undefined : `from ${key.ipRanges.join(', ')}`],
      ['created', dateText(key.createdAtMs), undefined, timeText(key.createdAtMs)],
      ['last use', agoText(key.lastUsedAtMs), undefined, key.lastUsedAtMs === null ? undefined : timeText(key.lastUsedAtMs)],
      ['state', stateText(key), key.state === 'active' ? 'buy' : 'faint'],
    ];
    for (const [name, text, className, title] of cells) {
      const cell = document.createElement('td');
      cell.dataset.name = name;
      cell.textContent = text;
      if (className !== undefined) cell.className = className;
      if (title !== undefined) cell.title = title;
      line.append(cell);
    }
    const actions = document.createElement('td');
    const group = document.createElement('div');
    group.className = 'actions';
    if (key.state === 'active') group.append(rowButton('Rotate', rotateKey, key));
    group.append(rowButton('Delete', deleteKey, key));
    actions.append(group);
    line.append(actions);
    return line;
  }

  function rowButton(text, dialog, key) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.dataset.focus = `${text}-${key.id}`;
    button.setAttribute('aria-label', `${text} ${nameOf(key)}`);
    button.addEventListener('click', () => {
      chosen = key;
      dialog.querySelector('.which').textContent = nameOf(key);
      dialog.querySelector('.fault').textContent = '';
      dialog.showModal();
    });
    return button;
  }

  function nameOf({ prefix, label }) {
    return label === null ? prefix : `${prefix} (${label})`;
  }

  function stateText({ state, secrets, expiresAtMs }) {
    if (state !== 'active') return state;
    const ending = secrets.slice(0, -1);
    const [old] = ending;
    if (old !== undefined) return `active; the old one until ${timeText(Math.max(...ending.map(({ endsAtMs }) => endsAtMs)))}`;
    return expiresAtMs === null ? state : `active until ${dateText(expiresAtMs)}`;
  }

  function dateText(ms) {
    return new Date(ms).toISOString().slice(0, 10);
  }

  function timeText(ms) {
    return new Date(ms).toLocaleString();
  }

  function agoText(ms) {
    if (ms === null) return 'never';
    const minutes = Math.floor((Date.now() - ms) / 60_000);
    if (minutes < 1) return 'just now';
    if (minutes < 60) return `${minutes} min ago`;
    return minutes < 1440 ? `${Math.floor(minutes / 60)} h ago` : dateText(ms);
  }

  // --- What is done.

  async function signInWith(wallet) {
    const input = await ask('sign-in/nonce', {});
    note(`${wallet.name} asks you to sign …`);
    const { publicKey, signedMessage, signature } = await wallet.sign(input);
    await ask('sign-in', { publicKey, signedMessage: base64(signedMessage), signature: base64(signature) });
    await readMe();
    note('Signed in.');
    byId('generate').focus();
  }

  function base64(bytes) {
    return btoa(String.fromCharCode(...new Uint8Array(bytes)));
  }

  /** The operator's link is in the part after #, which is never sent to a server or logged. It is removed from the address bar before it is used. */
  async function signInByLink() {
    const token = linkForm.exec(location.hash)?.[1];
    if (token === undefined) return;
    history.replaceState(null, '', '#api-keys');
    byId('api-keys').scrollIntoView();
    if (me.account === null) return useLink(token);
    // Ask first: otherwise a link that somebody sent could switch the browser to another account.
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Sign in by the link';
    button.addEventListener('click', () => void attempt(() => useLink(token)));
    note('You are signed in already. ');
    byId('account-note').append(button);
  }

  async function useLink(token) {
    await ask('sign-in/link', { token });
    await readMe();
    note('Signed in by the link, which is used up now.');
  }

  function show(key) {
    byId('shown-key-text').value = key;
    byId('copied').textContent = '';
    shownKey.showModal();
    byId('shown-key-text').select();
  }

  async function copy() {
    const field = byId('shown-key-text');
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      byId('copied').textContent = 'Copied.';
    } catch {
      // If the browser forbids writing to the clipboard, select the text instead.
      byId('copied').textContent = 'Press Ctrl+C or ⌘C to copy.';
    }
  }

  function newKeyBody(fields) {
    const { label, ipRanges, expires } = Object.fromEntries(fields);
    const limits = Object.fromEntries(limitNames.filter((name) => fields.get(name)).map((name) => [name, Number(fields.get(name))]));
    return {
      label: label.trim() === '' ? null : label.trim(),
      scopes: fields.getAll('scope'),
      ipRanges: ipRanges.split(/[\s,]+/).filter((range) => range !== ''),
      expiresAtMs: expires === '' ? null : Date.now() + Number(expires) * dayMs,
      ...(fields.has('plan') ? { plan: fields.get('plan') } : {}),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
    };
  }

  /** Keeps the dialog open, and shows errors in it, until `work` succeeds. */
  function onSubmit(dialog, work) {
    const form = dialog.querySelector('form');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void attempt(() => whileBusy(form.querySelector('[type=submit]'), () => work(new FormData(form))), dialog.querySelector('.fault'));
    });
    dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close());
  }

  onSubmit(newKey, async (fields) => {
    const { key } = await ask('keys', newKeyBody(fields));
    newKey.close();
    newKey.querySelector('form').reset();
    show(key);
    await readKeys();
  });
  onSubmit(rotateKey, async (fields) => {
    const { key } = await ask(`keys/${chosen.id}/rotate`, { overlapSeconds: Number(fields.get('overlap')) });
    rotateKey.close();
    show(key);
    await readKeys();
  });
  onSubmit(deleteKey, async () => {
    await ask(`keys/${chosen.id}/delete`, {});
    deleteKey.close();
    await readKeys();
    note('Deleted.');
    byId('generate').focus();
  });
  // Remove the key from the page before the dialog closes, however it is closed.
  for (const leaving of ['submit', 'cancel', 'close']) shownKey.addEventListener(leaving, () => (byId('shown-key-text').value = ''));
  byId('copy').addEventListener('click', () => void copy());
  byId('generate').addEventListener('click', () => {
    newKey.querySelector('.fault').textContent = '';
    newKey.showModal();
  });
  byId('sign-out').addEventListener('click', () => {
    void attempt(async () => {
      await ask('sign-out', {});
      await readMe();
      note('Signed out.');
    });
  });
  addEventListener('hashchange', () => void attempt(signInByLink));
  setInterval(() => {
    if (me?.account && !document.hidden) void attemptQuietly();
  }, refreshMs);
  /** The message beside the list stays. */
  async function attemptQuietly() {
    try {
      await readKeys();
    } catch (error) {
      note(error instanceof Error ? error.message : String(error), 'fault');
    }
  }

  globalThis.sluiceWallets.watch((found) => {
    wallets = found;
    drawWallets();
  });
  void attempt(async () => {
    await readMe();
    await signInByLink();
  });
})();
