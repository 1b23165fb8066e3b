'use strict';
(() => {
  /** The most rows in a table, and the most that wait to be drawn. The oldest are removed. */
  const maxRows = 60;
  const firstRetryMs = 500;
  const maxRetryMs = 10_000;
  /** The gateway sends something every second. After so long without data the connection counts as dead. */
  const silentMs = 6_000;
  const storedKey = 'sluice-api-key';
  const channels = ['trades', 'newTokens', 'migrations'];

  const byId = (id) => document.getElementById(id);
  const body = (id) => document.querySelector(`#${id} tbody`);
  const tables = {
    trade: { id: 'trades', rows: body('trades'), waiting: [], cells: tradeCells },
    newToken: { id: 'tokens', rows: body('tokens'), waiting: [], cells: tokenCells },
    migration: { id: 'migrations', rows: body('migrations'), waiting: [], cells: migrationCells },
  };
  const positions = new Map();
  let key = null;
  let socket = null;
  let retryMs = firstRetryMs;
  let retryTimer = 0;
  let silence = 0;
  let events = 0;
  let eventsBefore = 0;
  let missed = 0;
  let delayMs = null;
  let drawing = false;

  function setState(state, text) {
    byId('state').dataset.state = state;
    byId('state').textContent = text;
    byId('button').textContent = key === null ? 'Connect' : 'Disconnect';
  }

  function disconnect(text) {
    clearTimeout(retryTimer);
    clearTimeout(silence);
    key = null;
    sessionStorage.removeItem(storedKey);
    const closing = socket;
    socket = null;
    if (closing !== null) closing.close(1000);
    setState('idle', text);
  }

  function open() {
    const own = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/data`);
    socket = own;
    setState('idle', 'connecting …');
    own.addEventListener('open', () => own.send(JSON.stringify({ id: 'auth', op: 'auth', key })));
    own.addEventListener('message', ({ data }) => {
      if (own !== socket) return;
      clearTimeout(silence);
      silence = setTimeout(() => own.close(), silentMs);
      read(JSON.parse(data));
    });
    own.addEventListener('close', ({ code }) => {
      if (own !== socket) return;
      clearTimeout(silence);
      socket = null;
      if (code >= 4500) return disconnect(code === 4501 ? 'this API key is not valid' : `closed by the gateway (${code})`);
      setState('lost', 'connection lost, trying again …');
      retryTimer = setTimeout(open, retryMs * (0.5 + Math.random() / 2));
      retryMs = Math.min(retryMs * 2, maxRetryMs);
    });
  }

  function read(message) {
    if (message.topic !== undefined && message.op === undefined) return frame(message);
    if (message.op === 'authenticated') return subscribe();
    if (message.op === 'subscribed') return subscribed(message);
    if (message.op === 'gap') return gap(message);
    if (message.op === 'error') disconnect(`${message.error.code}: ${message.error.message}`);
  }

  function subscribe() {
    for (const channel of channels) {
      const position = positions.get(channel);
      socket.send(JSON.stringify({ id: channel, op: 'subscribe', channel, ...(position === undefined ? {} : { since: { ...position } }) }));
    }
  }

  function subscribed({ positions: begun }) {
    for (const [topic, { epoch, seq }] of Object.entries(begun)) positions.set(topic, { epoch, seq });
    retryMs = firstRetryMs;
    setState('live', 'live');
  }

  function gap({ topic, from, to, epoch }) {
    if (to === null) missed++;
    else missed += to - from + 1;
    positions.set(topic, { epoch, seq: to ?? 0 });
    draw();
  }

  function frame({ topic, seq, data }) {
    const position = positions.get(topic);
    if (position !== undefined) {
      if (seq > position.seq + 1) missed += seq - position.seq - 1;
      position.seq = seq;
    }
    events++;
    if (data.simulated === true) byId('simulated').hidden = false;
    if (data.ts !== undefined) delayMs = Math.max(0, Date.now() - data.ts.received / 1000);
    const table = tables[data.type];
    if (table === undefined) return;
    table.waiting.push(data);
    if (table.waiting.length > maxRows) table.waiting.shift();
    draw();
  }

  function draw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      for (const table of Object.values(tables)) drawTable(table);
      byId('events').textContent = events.toLocaleString('en-US');
      byId('missed').textContent = missed.toLocaleString('en-US');
      byId('seq').textContent = positions.get('trades')?.seq.toLocaleString('en-US') ?? '–';
      byId('delay').textContent = delayMs === null ? '–' : `${delayMs.toFixed(0)} ms`;
    });
  }

  function drawTable(table) {
    if (table.waiting.length === 0) return;
    document.querySelector(`#${table.id} .empty`).hidden = true;
    const fresh = table.waiting
      .splice(0)
      .toReversed()
      .map((event) => row(table.cells(event)));
    table.rows.prepend(...fresh);
    while (table.rows.rows.length > maxRows) table.rows.lastElementChild.remove();
  }

  function row(cells) {
    const line = document.createElement('tr');
    for (const [text, className, title] of cells) {
      const cell = document.createElement('td');
      cell.textContent = text;
      if (className !== undefined) cell.className = className;
      if (title !== undefined) cell.title = title;
      line.append(cell);
    }
    return line;
  }

  function tradeCells(event) {
    return [
      [time(event), 'faint'],
      [event.side, event.side === 'buy' ? 'buy' : 'sell'],
      address(event.mint),
      [number(event.tokenAmount), 'number'],
      [event.solAmount === null ? '–' : number(event.solAmount), 'number'],
      [event.priceSol === null ? '–' : event.priceSol.toPrecision(4), 'number'],
      [event.pool, 'faint'],
    ];
  }

  function tokenCells(event) {
    const firstBuy = event.initialBuy === null ? null : event.initialBuy.solAmount;
    return [
      [time(event), 'faint'],
      [`${event.name} (${event.symbol})`, 'name', `${event.name} (${event.symbol})`],
      address(event.mint),
      address(event.creator),
      [firstBuy === null ? '–' : number(firstBuy), 'number'],
    ];
  }

  function migrationCells(event) {
    return [
      [time(event), 'faint'],
      address(event.mint),
      [event.from.pool, 'faint'],
      [event.pool, 'faint'],
      [event.solAmount === null ? '–' : number(event.solAmount), 'number'],
    ];
  }

  function time(event) {
    return new Date(event.ts.received / 1000).toTimeString().slice(0, 8);
  }

  function address(text) {
    return [`${text.slice(0, 4)}…${text.slice(-4)}`, 'address', text];
  }

  function number(value) {
    return value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) >= 1000 ? 0 : 4 });
  }

  async function readStatus() {
    const response = await fetch('/status');
    if (!response.ok) return;
    const status = await response.json();
    if (status.cluster?.simulated === true) byId('simulated').hidden = false;
  }

  byId('connect').addEventListener('submit', (event) => {
    event.preventDefault();
    const typed = byId('key').value.trim();
    if (key !== null || typed === '') disconnect('not connected');
    if (typed === '') return;
    key = typed;
    positions.clear();
    byId('key').value = '';
    sessionStorage.setItem(storedKey, key);
    open();
  });
  byId('key').addEventListener('input', () => (byId('button').textContent = 'Connect'));
  setInterval(() => {
    byId('rate').textContent = (events - eventsBefore).toLocaleString('en-US');
    eventsBefore = events;
  }, 1000);
  readStatus().catch((error) => console.warn('no status:', error));
  key = sessionStorage.getItem(storedKey);
  if (key !== null) open();
})();
