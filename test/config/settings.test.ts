import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '@sluice/shared/config/settings.ts';
import { settingsTable } from '@sluice/shared/config/settings-table.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-settings-'));
  file = join(folder, 'there');
  writeFileSync(file, 'content\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

function configOf(env: NodeJS.ProcessEnv) {
  const outcome = readSettings(env);
  if (!outcome.ok) throw new Error(outcome.faults.join('\n'));
  return outcome.config;
}

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  const outcome = readSettings(env);
  return outcome.ok ? [] : outcome.faults;
}

describe('settings', () => {
  it('have the documented defaults', () => {
    expect(configOf({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      tls: null,
      redisUrls: null,
      rpc: null,
      grpc: null,
      dataDir: '.data',
      databaseUrl: null,
      trading: 'live',
      keystorePassphraseFile: null,
      logLevel: 'info',
    });
  });

  it('are frozen to the bottom', () => {
    const config = configOf({ SOLANA_RPC_URL: 'http://127.0.0.1:8899' });
    expect(Object.isFrozen(config) && Object.isFrozen(config.rpc) && Object.isFrozen(config.rpc?.httpUrls)).toBe(true);
  });

  it('take an empty value for one that is not set, as in a copied .env.example', () => {
    expect(configOf(Object.fromEntries(settingsTable.map(({ name }) => [name, ' '])))).toEqual(configOf({}));
  });

  it('derive the PubSub addresses from the RPC addresses, keys and ports included', () => {
    const { rpc, trading } = configOf({ SOLANA_RPC_URL: 'https://a.example.com/v1?api-key=k , http://127.0.0.1:8899' });
    expect(rpc?.httpUrls).toEqual(['https://a.example.com/v1?api-key=k', 'http://127.0.0.1:8899']);
    expect(rpc?.wsUrls).toEqual(['wss://a.example.com/v1?api-key=k', 'ws://127.0.0.1:8899']);
    expect(trading).toBe('off');
  });

  it('take every documented form', () => {
    const config = configOf({
      HOST: '::1',
      PORT: '0',
      TLS_CERT_FILE: file,
      TLS_KEY_FILE: file,
      REDIS_URL: 'rediss://user:word@a:6379,rediss://b:6380',
      SOLANA_RPC_URL: 'https://a.example.com',
      SOLANA_WS_URL: 'wss://b.example.com/ws',
      DATA_DIR: folder,
      TRADING: 'paper',
      KEYSTORE_PASSPHRASE_FILE: file,
      LOG_LEVEL: 'silent',
    });
    expect(config).toMatchObject({ host: '::1', port: 0, tls: { certFile: file, keyFile: file }, trading: 'paper', logLevel: 'silent' });
    expect(config.redisUrls).toHaveLength(2);
    expect(config.rpc?.wsUrls).toEqual(['wss://b.example.com/ws']);
  });

  it.each([
    ['HOST', 'two words'],
    ['HOST', 'http://x'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', '0x50'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'http://localhost'],
    ['REDIS_URL', 'redis://a,rediss://b'],
    ['REDIS_URL', 'redis://a/1,redis://b/1'],
    ['REDIS_URL', 'redis://a,,redis://b'],
    ['SOLANA_RPC_URL', 'wss://a.example.com'],
    ['SOLANA_RPC_URL', 'https://a.example.com,https://a.example.com'],
    ['SOLANA_WS_URL', 'wss://a.example.com'],
    ['SOLANA_GRPC_URL', 'https://a.example.com'],
    ['SOLANA_GRPC_TOKEN', 'token'],
    ['DATABASE_URL', 'postgres://localhost/x'],
    ['TRADING', 'yes'],
    ['LOG_LEVEL', 'verbose'],
    ['TLS_CERT_FILE', '/there/is/no/such/file'],
    ['KEYSTORE_PASSPHRASE_FILE', '/'],
    ['DATA_DIR', '/dev/null'],
  ])('refuse %s=%s, and only that', (name, value) => {
    const faults = faultsOf({ [name]: value });
    expect(faults.filter((fault) => fault.startsWith(`${name}: `))).not.toEqual([]);
    const others = name === 'TLS_CERT_FILE' ? ['TLS_KEY_FILE'] : [];
    expect(faults.filter((fault) => ![name, ...others].some((known) => fault.startsWith(`${known}: `)))).toEqual([]);
  });

  it('name every fault at once', () => {
    const faults = faultsOf({ PORT: 'x', TRADING: 'x', LOG_LEVEL: 'x', TLS_KEY_FILE: file, REDIS_URL: 'x', SOLANA_RPC_URLS: 'x' });
    expect(new Set(faults.map((fault) => fault.split(':')[0]))).toEqual(
      new Set(['LOG_LEVEL', 'PORT', 'REDIS_URL', 'SOLANA_RPC_URLS', 'TLS_CERT_FILE', 'TRADING']),
    );
    expect(faults.find((fault) => fault.startsWith('SOLANA_RPC_URLS'))).toContain('did you mean SOLANA_RPC_URL');
  });

  it('want an address of PubSub for each of RPC', () => {
    expect(faultsOf({ SOLANA_RPC_URL: 'https://a,https://b', SOLANA_WS_URL: 'wss://a' })).toHaveLength(1);
  });

  it('leave other programs and orchestrators their names', () => {
    expect(
      faultsOf({
        REDIS_SERVICE_HOST: '10.0.0.1',
        REDIS_PORT: 'tcp://10.0.0.1:6379',
        REDIS_PORT_6379_TCP_ADDR: '10.0.0.1',
        SOLANA_METRICS_CONFIG: 'host=x',
        PATH: '/bin',
      }),
    ).toEqual([]);
  });

  it('repeat no secret in a fault', () => {
    const secret = 'hunter2hunter2';
    const faults = faultsOf({
      REDIS_URL: `http://u:${secret}@h,${secret},redis://:${secret}@h/3`,
      SOLANA_RPC_URL: `ws://h/${secret}`,
      SOLANA_WS_URL: `https://h/?k=${secret},${secret}`,
      SOLANA_GRPC_URL: `ftp://${secret}@h`,
      SOLANA_GRPC_TOKEN: secret,
      DATABASE_URL: `mysql://u:${secret}@h/d`,
      SLUICE_SECRET: secret,
    });
    expect(faults.length).toBeGreaterThan(6);
    expect(faults.join('\n')).not.toContain(secret);
  });
});
