import { execFileSync, spawnSync } from 'node:child_process';
import { decodedVenueNames, venuesByLogs } from '@sluice/shared/wire/venues.ts';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { readSettings, type SettingsOptions } from '@sluice/shared/config/settings/settings.ts';
import { settingsTable } from '@sluice/shared/config/settings/settings-table.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-settings-'));
  file = join(folder, 'there');
  writeFileSync(file, 'content\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Creates certificates. If it is not installed, the test that needs one is skipped. */
const certificateTool = 'openssl';
const hasOpenssl = spawnSync(certificateTool, ['version']).status === 0;

/** A self-signed certificate and its key. */
function certificate(name: string): [string, string] {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const form = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost'.split(' ');
  execFileSync(certificateTool, [...form, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  return [certFile, keyFile];
}

function configOf(env: NodeJS.ProcessEnv) {
  const outcome = readSettings(env);
  if (!outcome.ok) throw new Error(outcome.faults.join('\n'));
  return outcome.config;
}

function faultsOf(env: NodeJS.ProcessEnv, options: SettingsOptions = {}): readonly string[] {
  const outcome = readSettings(env, options);
  return outcome.ok ? [] : outcome.faults;
}

describe('settings', () => {
  it('have the documented defaults', () => {
    expect(configOf({})).toEqual({
      host: '127.0.0.1',
      idlDir: null,
      port: 8080,
      tls: null,
      redisUrls: null,
      rpc: null,
      simnetSpeed: 1,
      memory: standardMemory,
      venues: venuesByLogs,
      pricePools: null,
      sources: ['logs'],
      settleBy: 'blocks',
      grpc: null,
      dataDir: '.data',
      databaseUrl: null,
      trading: 'live',
      keystorePassphraseFile: null,
      signerSocket: null,
      signerDir: null,
      signerLimits: { maxOrderLamports: 101_000_000_000n, maxDayLamports: 1_000_000_000_000n },
      broadcast: { jitoUrl: null, senderUrl: null, jitoTip: 0n, senderTip: 0n },
      plans: defaultPlans,
      allowedHosts: [],
      corsOrigins: [],
      trustedProxies: [],
      pumpPortalKeyless: true,
      compressedConnections: 100,
      publicUrl: 'http://127.0.0.1:8080',
      signUp: 'open',
      operations: { metrics: null, sharePort: false, drainWaitMs: 0 },
      ipfsGateways: ['https://ipfs.io/ipfs/', 'https://dweb.link/ipfs/'],
      logLevel: 'info',
    });
  });

  it('name the gateways of IPFS, or none', () => {
    const gatewaysOf = (text: string): readonly string[] => configOf({ IPFS_GATEWAYS: text }).ipfsGateways;
    expect(gatewaysOf('https://a.example.com/ipfs, http://B.example.com/x/ipfs/')).toEqual([
      'https://a.example.com/ipfs/',
      'http://b.example.com/x/ipfs/',
    ]);
    expect(gatewaysOf('none')).toEqual([]);
    for (const wrong of [
      'a.example.com',
      'ftp://a.example.com/ipfs/',
      'https://a.example.com/',
      'https://a.example.com/ipfs/?token=t',
      'none,https://a.example.com/ipfs/',
    ])
      expect(faultsOf({ IPFS_GATEWAYS: wrong }), wrong).toEqual([expect.stringMatching(/^IPFS_GATEWAYS: /)]);
  });

  it('name the venues that ingest reads', () => {
    expect(configOf({ VENUES: 'pump-amm, pump' }).venues).toEqual(['pump', 'pump-amm']);
    expect(configOf({ SOURCES: 'blocks, logs' })).toMatchObject({ sources: ['logs', 'blocks'], venues: decodedVenueNames });
    expect(configOf({ SOLANA_RPC_URL: 'https://a.example.com' })).toMatchObject({ sources: null, venues: null });
    expect(configOf({ SOLANA_RPC_URL: 'https://a.example.com', SOURCES: 'logs' }).venues).toEqual(venuesByLogs);
    expect(faultsOf({ SOURCES: 'logs,shreds' })).toEqual([expect.stringMatching(/^SOURCES: "shreds" is not one of logs, blocks, /)]);
    expect(faultsOf({ VENUES: 'pump,uniswap' })).toEqual([`VENUES: "uniswap" is not one of ${decodedVenueNames.join(', ')}`]);
  });

  it('name the pools that price coins, by their addresses', () => {
    const pool = 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE';
    expect(configOf({ PRICE_POOLS: ` ${pool} ` }).pricePools).toEqual([pool]);
    expect(faultsOf({ PRICE_POOLS: `${pool},${pool}` })).toEqual(['PRICE_POOLS: has the same entry twice']);
    expect(faultsOf({ PRICE_POOLS: `${pool},SOL/USDC` })).toEqual(['PRICE_POOLS: "SOL/USDC" is not an address']);
  });

  it('name endpoints of gRPC and their token, which no fault repeats', () => {
    const rpc = { SOLANA_RPC_URL: 'https://a.example.com' };
    const urls = { ...rpc, SOLANA_GRPC_URL: 'https://a.example.com:443, http://b.example.com:10000' };
    const two = configOf({ ...urls, SOLANA_GRPC_TOKEN: 'secret-token' });
    expect(two.grpc).toEqual({ urls: ['https://a.example.com:443', 'http://b.example.com:10000'], token: 'secret-token' });
    expect(two.sources).toBeNull();
    expect(configOf({ ...urls, SOURCES: 'grpc' })).toMatchObject({ sources: ['grpc'], grpc: { token: null } });
    const wrong = [
      [{ ...rpc, SOURCES: 'grpc' }, 'SOURCES: grpc requires SOLANA_GRPC_URL'],
      [{ ...urls, SOURCES: 'logs' }, 'SOLANA_GRPC_URL: has no effect without grpc in SOURCES. Remove it, or name grpc'],
      [{ SOLANA_GRPC_URL: 'https://a.example.com' }, 'SOLANA_GRPC_URL: requires SOLANA_RPC_URL, which answers what a stream does not show'],
      [{ ...rpc, SOLANA_GRPC_TOKEN: 'secret-token' }, 'SOLANA_GRPC_TOKEN: requires SOLANA_GRPC_URL'],
      [{ ...urls, SOLANA_GRPC_TOKEN: 'secret token' }, 'SOLANA_GRPC_TOKEN: has characters that a header cannot have'],
    ] as const;
    for (const [env, fault] of wrong) expect(faultsOf(env)).toEqual([fault]);
  });

  it('are frozen at every level', () => {
    const config = configOf({ SOLANA_RPC_URL: 'http://127.0.0.1:8899' });
    expect(Object.isFrozen(config) && Object.isFrozen(config.rpc) && Object.isFrozen(config.rpc?.httpUrls)).toBe(true);
  });

  it('serve PumpPortal clients without a key on simnet on the loopback only, unless they are set', () => {
    expect(configOf({ HOST: 'localhost' }).pumpPortalKeyless).toBe(true);
    expect(configOf({ HOST: '0.0.0.0' }).pumpPortalKeyless).toBe(false);
    expect(configOf({ SOLANA_RPC_URL: 'http://127.0.0.1:8899' }).pumpPortalKeyless).toBe(false);
    expect(configOf({ SOLANA_RPC_URL: 'http://127.0.0.1:8899', PUMPPORTAL_KEYLESS: 'on' }).pumpPortalKeyless).toBe(true);
    expect(configOf({ PUMPPORTAL_KEYLESS: 'off' }).pumpPortalKeyless).toBe(false);
  });

  it('treat an empty value as not set, as in a copied .env.example', () => {
    expect(configOf(Object.fromEntries(settingsTable.map(({ name }) => [name, ' '])))).toEqual(configOf({}));
  });

  it('derive the PubSub addresses from the RPC addresses, keys and ports included', () => {
    const { rpc, trading } = configOf({ SOLANA_RPC_URL: 'https://a.example.com/v1?api-key=k , http://127.0.0.1:8899' });
    expect(rpc?.httpUrls).toEqual(['https://a.example.com/v1?api-key=k', 'http://127.0.0.1:8899']);
    expect(rpc?.wsUrls).toEqual(['wss://a.example.com/v1?api-key=k', 'ws://127.0.0.1:8899']);
    expect(trading).toBe('off');
  });

  it('accept every documented form', () => {
    const config = configOf({
      HOST: '::1',
      PORT: '0',
      REDIS_URL: 'rediss://user:word@a:6379,rediss://b:6380',
      SOLANA_RPC_URL: 'https://a.example.com',
      SOLANA_WS_URL: 'wss://b.example.com/ws',
      DATA_DIR: folder,
      TRADING: 'paper',
      KEYSTORE_PASSPHRASE_FILE: file,
      SIGNER_SOCKET: '/run/sluice-signer/signer.sock',
      SIGNER_DIR: '/var/lib/sluice-signer',
      SIGNER_MAX_ORDER_SOL: '0.000000001',
      SIGNER_MAX_DAY_SOL: '2.5',
      JITO_URL: 'https://jito.example.com/api/v1/transactions?uuid=u',
      SENDER_URL: 'http://sender.example.com/fast',
      JITO_TIP_SOL: '0.00002',
      LOG_LEVEL: 'silent',
      DATABASE_URL: 'postgresql://user:word@db.example.com/sluice',
      CORS_ORIGINS: 'https://App.example.com:443/, http://127.0.0.1:3000',
      TRUSTED_PROXIES: '10.0.0.0/8, ::1, 2001:db8::/32',
      PUBLIC_URL: 'https://sluice.example.com/',
      SIGN_UP: 'closed',
      METRICS_HOST: '0.0.0.0',
      METRICS_PORT: '9464',
      DRAIN_WAIT_SECONDS: '5',
    });
    expect(config).toMatchObject({
      databaseUrl: 'postgresql://user:word@db.example.com/sluice',
      corsOrigins: ['https://app.example.com', 'http://127.0.0.1:3000'],
      trustedProxies: ['10.0.0.0/8', '::1', '2001:db8::/32'],
      publicUrl: 'https://sluice.example.com',
      signUp: 'closed',
      operations: { metrics: { host: '0.0.0.0', port: 9464 }, sharePort: false, drainWaitMs: 5_000 },
      signerSocket: '/run/sluice-signer/signer.sock',
      signerDir: '/var/lib/sluice-signer',
      signerLimits: { maxOrderLamports: 1n, maxDayLamports: 2_500_000_000n },
      broadcast: {
        jitoUrl: 'https://jito.example.com/api/v1/transactions?uuid=u',
        senderUrl: 'http://sender.example.com/fast',
        jitoTip: 20_000n,
        senderTip: 1_000_000n,
      },
    });
    expect(config).toMatchObject({ host: '::1', port: 0, trading: 'paper', logLevel: 'silent' });
    expect(config.redisUrls).toHaveLength(2);
    expect(config.rpc?.wsUrls).toEqual(['wss://b.example.com/ws']);
  });

  it('tip each lane at least its minimum, and refuse to start with less', () => {
    const jito = { JITO_URL: 'https://jito.example.com/api/v1/transactions' };
    const sender = { SENDER_URL: 'https://sender.example.com/fast' };
    const byStake = { SENDER_URL: 'https://sender.example.com/fast?swqos_only=true' };
    expect(configOf(jito).broadcast).toMatchObject({ jitoTip: 1_000n, senderTip: 0n });
    expect(configOf({ ...jito, ...sender }).broadcast).toMatchObject({ jitoTip: 1_000n, senderTip: 1_000_000n });
    expect(configOf(byStake).broadcast).toMatchObject({ jitoTip: 0n, senderTip: 5_000n });
    expect(configOf({ ...byStake, SENDER_TIP_SOL: '0.1' }).broadcast).toMatchObject({ senderTip: 100_000_000n });
    const wrong: readonly (readonly [name: string, env: Record<string, string>])[] = [
      ['JITO_TIP_SOL', { ...jito, JITO_TIP_SOL: '0.000000999' }],
      ['JITO_TIP_SOL', { ...jito, JITO_TIP_SOL: '0' }],
      ['JITO_TIP_SOL', { JITO_TIP_SOL: '0.001' }],
      ['SENDER_TIP_SOL', { ...sender, SENDER_TIP_SOL: '0.000005' }],
      ['SENDER_TIP_SOL', { ...byStake, SENDER_TIP_SOL: '0.000004999' }],
      ['SENDER_TIP_SOL', { ...sender, SENDER_TIP_SOL: '0.100000001' }],
      ['SENDER_TIP_SOL', { ...sender, SENDER_TIP_SOL: '1e-2' }],
      ['SENDER_TIP_SOL', { ...jito, SENDER_TIP_SOL: '0.001' }],
    ];
    for (const [name, env] of wrong) {
      const outcome = readSettings(env);
      expect(outcome.ok ? [] : outcome.faults, JSON.stringify(env)).toEqual([expect.stringMatching(new RegExp(`^${name}: `))]);
    }
  });

  it.each([
    ['HOST', 'two words'],
    ['HOST', 'http://x'],
    ['HOST', '999.1.1.1'],
    ['HOST', '1.2.3'],
    ['HOST', '1.2.3.4.5'],
    ['HOST', ':::'],
    ['HOST', '::g'],
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
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'postgres://a/x,postgres://b/x'],
    ['DATABASE_URL', 'localhost'],
    ['TRADING', 'yes'],
    ['JITO_URL', 'jito.example.com'],
    ['SENDER_URL', 'https://a.example.com,https://b.example.com'],
    ['SIGNER_SOCKET', 'signer.sock'],
    ['SIGNER_DIR', `/${'a'.repeat(107)}`],
    ['SIGNER_MAX_ORDER_SOL', '0'],
    ['SIGNER_MAX_ORDER_SOL', '-1'],
    ['SIGNER_MAX_ORDER_SOL', '1e3'],
    ['SIGNER_MAX_ORDER_SOL', '0.0000000001'],
    ['SIGNER_MAX_DAY_SOL', 'much'],
    ['SIGNER_MAX_DAY_SOL', '100.9'],
    ['PLANS_FILE', '/there/is/no/such/file'],
    ['CORS_ORIGINS', 'app.example.com'],
    ['CORS_ORIGINS', 'https://app.example.com/path'],
    ['CORS_ORIGINS', '*,https://app.example.com'],
    ['CORS_ORIGINS', 'null'],
    ['TRUSTED_PROXIES', 'proxy.example.com'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '0.0.0.0/0'],
    ['TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
    ['PUBLIC_URL', 'sluice.example.com'],
    ['PUBLIC_URL', 'https://sluice.example.com/below'],
    ['PUBLIC_URL', 'ftp://sluice.example.com'],
    ['SIGN_UP', 'yes'],
    ['LOG_LEVEL', 'verbose'],
    ['METRICS_PORT', '65536'],
    ['SIMNET_SPEED', '0'],
    ['SIMNET_SPEED', '51'],
    ['METRICS_HOST', '127.0.0.1'],
    ['SHARE_PORT', 'yes'],
    ['ALLOWED_HOSTS', 'https://sluice.example'],
    ['ALLOWED_HOSTS', 'sluice.example:8443'],
    ['ALLOWED_HOSTS', '*,sluice.example'],
    ['COMPRESSED_CONNECTIONS', '50001'],
    ['COMPRESSED_CONNECTIONS', 'all'],
    ['DRAIN_WAIT_SECONDS', '6'],
    ['DRAIN_WAIT_SECONDS', '-1'],
    ['TLS_CERT_FILE', '/there/is/no/such/file'],
    ['KEYSTORE_PASSPHRASE_FILE', '/'],
    ['DATA_DIR', '/dev/null'],
    ['DATA_DIR', '/dev/null/below'],
    ['DATA_DIR', '/proc/x'],
    ['DATA_DIR', '/proc/self/x/y'],
    ['DATA_DIR', '/sys'],
    ['DATA_DIR', '/sys/x'],
  ])('refuse %s=%s, and only that', (name, value) => {
    const faults = faultsOf({ [name]: value });
    expect(faults.filter((fault) => fault.startsWith(`${name}: `))).not.toEqual([]);
    const others = name === 'TLS_CERT_FILE' ? ['TLS_KEY_FILE'] : [];
    expect(faults.filter((fault) => ![name, ...others].some((known) => fault.startsWith(`${known}: `)))).toEqual([]);
  });

  it('derive the public address only if it follows from the listener', () => {
    expect(configOf({ HOST: '::1', PORT: '81' }).publicUrl).toBe('http://[::1]:81');
    expect(configOf({ HOST: 'localhost' }).publicUrl).toBe('http://localhost:8080');
    expect(configOf({ PORT: '0' }).publicUrl).toBe(null);
    expect(configOf({ HOST: '0.0.0.0' }).publicUrl).toBe(null);
  });

  it('read the names of the gateway in the form in which they are compared', () => {
    expect(configOf({}).allowedHosts).toEqual([]);
    expect(configOf({ ALLOWED_HOSTS: 'Sluice.example., 203.0.113.9,2001:db8::1' }).allowedHosts).toEqual([
      'sluice.example',
      '203.0.113.9',
      '2001:db8::1',
    ]);
    expect(configOf({ ALLOWED_HOSTS: '*' }).allowedHosts).toEqual(['*']);
  });

  it('treat every address of the loopback as one', () => {
    for (const HOST of ['127.9.9.9', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'LOCALHOST']) {
      expect([HOST, configOf({ HOST }).pumpPortalKeyless]).toEqual([HOST, true]);
    }
    for (const HOST of ['127.evil.test', '::2', '::ffff:203.0.113.9']) {
      expect([HOST, configOf({ HOST }).pumpPortalKeyless]).toEqual([HOST, false]);
    }
  });

  it('open sign-up on simnet only, unless configured', () => {
    expect(configOf({}).signUp).toBe('open');
    expect(configOf({ SOLANA_RPC_URL: 'https://a.example.com' }).signUp).toBe('closed');
    expect(configOf({ SOLANA_RPC_URL: 'https://a.example.com', SIGN_UP: 'open' }).signUp).toBe('open');
  });

  it('report all faults at once', () => {
    const faults = faultsOf({ PORT: 'x', TRADING: 'x', LOG_LEVEL: 'x', TLS_KEY_FILE: file, REDIS_URL: 'x', SOLANA_RPC_URLS: 'x' });
    expect(new Set(faults.map((fault) => fault.split(':')[0]))).toEqual(
      new Set(['LOG_LEVEL', 'PORT', 'REDIS_URL', 'SOLANA_RPC_URLS', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRADING']),
    );
    expect(faults.find((fault) => fault.startsWith('SOLANA_RPC_URLS'))).toContain('did you mean SOLANA_RPC_URL');
  });

  it('require one PubSub address for each RPC address', () => {
    expect(faultsOf({ SOLANA_RPC_URL: 'https://a,https://b', SOLANA_WS_URL: 'wss://a' })).toHaveLength(1);
  });

  it.skipIf(!hasOpenssl)('require a certificate and a key in PEM that belong together', () => {
    const [cert, key] = certificate('one');
    expect(configOf({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key }).tls).toEqual({ certFile: cert, keyFile: key });
    const [otherCert, otherKey] = certificate('two');
    expect(faultsOf({ TLS_CERT_FILE: file, TLS_KEY_FILE: file }).map((fault) => fault.split(':')[0])).toEqual([
      'TLS_CERT_FILE',
      'TLS_KEY_FILE',
    ]);
    expect(faultsOf({ TLS_CERT_FILE: key, TLS_KEY_FILE: key })).toEqual([expect.stringMatching(/^TLS_CERT_FILE: /)]);
    expect(faultsOf({ TLS_CERT_FILE: cert, TLS_KEY_FILE: cert })).toEqual([expect.stringMatching(/^TLS_KEY_FILE: /)]);
    for (const env of [
      { TLS_CERT_FILE: cert, TLS_KEY_FILE: otherKey },
      { TLS_CERT_FILE: otherCert, TLS_KEY_FILE: key },
    ])
      expect(faultsOf(env)).toEqual([expect.stringMatching(/^TLS_KEY_FILE: .*TLS_CERT_FILE/)]);
  });

  it('accept a data folder that can be created, and check the nearest existing folder', () => {
    expect(faultsOf({ DATA_DIR: join(folder, 'new/and/newer') })).toEqual([]);
    symlinkSync(join(folder, 'nothing'), join(folder, 'dangling'));
    for (const dir of [join(file, 'below/a/file'), join(folder, 'dangling'), join(folder, 'dangling/x')])
      expect(faultsOf({ DATA_DIR: dir })).toEqual([expect.stringMatching(/^DATA_DIR: /)]);
  });

  it.skipIf(process.getuid?.() === 0)('refuse a data folder that this user cannot write', () => {
    mkdirSync(join(folder, 'shut'));
    chmodSync(join(folder, 'shut'), 0o500);
    for (const dir of [join(folder, 'shut'), join(folder, 'shut/x/y')])
      expect(faultsOf({ DATA_DIR: dir })).toEqual([expect.stringMatching(/^DATA_DIR: /)]);
  });

  it('report missing and wrong settings together, each once', () => {
    const requires = { REDIS_URL: 'the bus', SOLANA_RPC_URL: 'the chain' };
    expect(faultsOf({ PORT: 'abc' }, { requires }).map((fault) => fault.split(':')[0])).toEqual(['PORT', 'REDIS_URL', 'SOLANA_RPC_URL']);
    expect(faultsOf({ REDIS_URL: 'x', SOLANA_RPC_URL: 'http://a' }, { requires })).toHaveLength(1);
    expect(faultsOf({ REDIS_URL: ' ', SOLANA_RPC_URL: 'http://a' }, { requires })).toEqual(['REDIS_URL: missing; the bus']);
  });

  it.each([
    ['PORTT', 'PORT'],
    ['PROT', 'PORT'],
    ['HOTS', 'HOST'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['LOG_LEVELS', 'LOG_LEVEL'],
    ['DATADIR', 'DATA_DIR'],
    ['TRADNG', 'TRADING'],
    ['REDIS_URI', 'REDIS_URL'],
    ['TLS_CERTFILE', 'TLS_CERT_FILE'],
    ['KEYSTORE_PASSPHRASE', 'KEYSTORE_PASSPHRASE_FILE'],
    ['SOLANA_RPC_URLS', 'SOLANA_RPC_URL'],
    ['SLUICE_APIKEY', 'SLUICE_API_KEY'],
  ])('refuse the misspelt name %s and suggest %s', (name, meant) => {
    expect(faultsOf({ [name]: '1' })).toEqual([`${name}: there is no such setting; did you mean ${meant}?`]);
  });

  it('refuse every unknown name in .env, which belongs to sluice alone', () => {
    const envFile = { names: ['PORT', 'REDIS_HOST', 'COLOUR'], fault: null };
    const faults = faultsOf({ PORT: '1', REDIS_HOST: 'x', COLOUR: 'y', EDITOR: 'vi' }, { envFile });
    expect(faults).toEqual(['COLOUR: there is no such setting (.env)', expect.stringMatching(/^REDIS_HOST: .*\(\.env\)/)]);
    expect(faultsOf({}, { envFile: { names: [], fault: 'cannot be read' } })).toEqual(['.env: cannot be read']);
  });

  it('accept the names of other programs and orchestrators', () => {
    expect(
      faultsOf({
        SLUICE_URL: 'http://127.0.0.1:9000',
        REDIS_SERVICE_HOST: '10.0.0.1',
        REDIS_PORT: 'tcp://10.0.0.1:6379',
        REDIS_PORT_6379_TCP_ADDR: '10.0.0.1',
        SOLANA_METRICS_CONFIG: 'host=x',
        SOLANA_VERSION: '2',
        REDIS_HOST: 'x',
        REDIS_PASSWORD: 'x',
        REDIS_DB: '0',
        REDIS_TLS_URL: 'rediss://x',
        DATABASE_HOST: 'x',
        HOSTNAME: 'x',
        HOSTTYPE: 'x',
        PORT0: '31000',
        HOME: '/x',
        POSIX: '1',
        PS1: 'x',
        LOGNAME: 'x',
        TLS_CERT: 'x',
        XDG_DATA_DIRS: '/x',
        TRAINING: 'x',
        SSL_CERT_FILE: '/x',
        SSL_CERT_DIR: '/x',
        SSL_KEY_FILE: '/x',
        CHOST: 'x',
        VHOST: 'x',
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
      PUBLIC_URL: `https://u:${secret}@h/`,
      CORS_ORIGINS: `https://h/?token=${secret}`,
      SLUICE_SECRET: secret,
    });
    expect(faults.length).toBeGreaterThan(8);
    expect(faults.join('\n')).not.toContain(secret);
  });
});

describe('.env', () => {
  it('adds settings that are not set, and returns their names', () => {
    const envFile = join(folder, 'env');
    // As an editor writes it that puts a byte order mark at the beginning.
    writeFileSync(envFile, '\uFEFFFIRST=from the file\n# a comment\nPATH=/nowhere\nEMPTY=x\n');
    const env: NodeJS.ProcessEnv = { PATH: '/bin', EMPTY: '' };
    const { names, fault } = loadEnvFile(env, envFile);
    expect([names.toSorted(), fault]).toEqual([['EMPTY', 'FIRST', 'PATH'], null]);
    expect(env).toEqual({ FIRST: 'from the file', PATH: '/bin', EMPTY: '' });
  });

  it('is a fault if it cannot be read, and none if it does not exist', () => {
    expect(loadEnvFile({}, join(folder, 'no-such'))).toEqual({ names: [], fault: null });
    expect(loadEnvFile({}, folder)).toEqual({ names: [], fault: 'is not a file that can be read' });
  });
});
