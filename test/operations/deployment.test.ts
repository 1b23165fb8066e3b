import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { settingsTable } from '@sluice/shared/config/settings/settings-table.ts';
import { parse } from 'yaml';

/**
 * What runs sluice in production: units, container, chart. Linters check them where they are installed. `pnpm test:container` installs the
 * linters and runs this suite with them (`release/linters.ts`); it also runs the steps of the container without one.
 */
const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as { readonly version: string; readonly scripts: Readonly<Record<string, string>> };
const isThere = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => folder !== '' && existsSync(join(folder, program)));
const settings: ReadonlySet<string> = new Set(settingsTable.map(({ name }) => name));
const units = readdirSync(join(root, 'operating/systemd'));
const containerfile = read('operating/container/Containerfile');

function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: join(root, 'operating'), encoding: 'utf8' });
  expect({ status, output: error?.message ?? (status === 0 ? '' : `${stdout}${stderr}`) }).toEqual({ status: 0, output: '' });
  return stdout;
}

/** An empty folder, until the end of the test. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-deployment-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Names in the form of a setting that are neither one nor of another program. */
function unknownSettings(text: string): readonly string[] {
  const others = /^(POSTGRES_|REDIS_PASSWORD|REDISCLI_AUTH|SLUICE_IMAGE)/;
  const names = [...text.matchAll(/^\s*(?:- \{ name: )?([A-Z][A-Z\d_]+)[:=]/gm)].map(([, name = '']) => name);
  return names.filter((name) => !others.test(name) && !settings.has(name));
}

describe('systemd units', () => {
  it.each(units)('%s starts the program with the flags of its script', (unit) => {
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(read(`operating/systemd/${unit}`)) ?? [];
    const script = unit.startsWith('sluice-signer')
      ? 'node run.mjs sluice signer'
      : manifest.scripts[unit.slice('sluice-'.length, unit.indexOf('@'))];
    expect(command.replace('/usr/bin/', '').replace('/opt/sluice/', '')).toBe(script);
  });

  it('start after the network only if they also request it', () => {
    for (const unit of units) {
      const requests = ['After', 'Wants'].map((key) => new RegExp(`^${key}=.*network-online`, 'm').test(read(`operating/systemd/${unit}`)));
      expect(new Set(requests).size).toBe(1);
    }
  });

  it.skipIf(!isThere('systemd-analyze'))('are valid and hardened (needs systemd-analyze)', () => {
    const folder = temporaryFolder();
    for (const unit of units) {
      run('systemd-analyze', 'security', '--offline=true', '--threshold=20', '--no-pager', `systemd/${unit}`);
      // The program that a unit names must exist, and this machine may have Node.js elsewhere.
      const copy = join(folder, unit);
      writeFileSync(copy, read(`operating/systemd/${unit}`).replace('/usr/bin/node', process.execPath), { mode: 0o644 });
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', copy], { encoding: 'utf8' });
      // It only warns of an unknown key.
      expect({ status, warnings: stderr.split('\n').filter((line) => line.includes(unit)) }).toEqual({ status: 0, warnings: [] });
    }
  });
});

describe('the container', () => {
  it('runs the version of Node.js that the tests run, as an ordinary user, with known settings', () => {
    const { optionalDependencies } = JSON.parse(read('test/node-versions/package.json')) as {
      optionalDependencies: Readonly<Record<string, string>>;
    };
    const [, version] = optionalDependencies['node-24']?.split('@') ?? [];
    const images = [...containerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(new Set(images)).toEqual(new Set([`docker.io/library/node:${version}-trixie-slim`]));
    expect(containerfile).toMatch(/^USER 10001:10001$/m);
    expect(containerfile).toMatch(/^HEALTHCHECK /m);
    const [, environment = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(containerfile) ?? [];
    expect(unknownSettings(environment.replaceAll(' \\\n', '\n'))).toEqual([]);
  });

  it.skipIf(!isThere('hadolint'))('satisfies hadolint (needs hadolint)', () => {
    run('hadolint', 'container/Containerfile');
  });

  it('is composed with a read-only root, no capabilities, pinned images, and Redis as OPERATING.md demands', () => {
    const text = read('operating/container/compose.yaml');
    const { services, networks } = parse(text, { merge: true }) as {
      readonly services: Readonly<
        Record<string, Readonly<Record<string, unknown>> & { image: string; environment: object; command: string[] }>
      >;
      readonly networks: Readonly<Record<string, object>>;
    };
    expect(Object.keys(services)).toEqual(['gateway', 'ingest', 'redis', 'postgres']);
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, security_opt: ['no-new-privileges:true'] });
      expect(service.image).toMatch(/^\$\{SLUICE_IMAGE:-localhost\/|^docker\.io\/library\/\w+:\d[\w.]*-trixie$/);
    }
    for (const name of ['gateway', 'ingest']) {
      expect(services[name]).toMatchObject({ cap_drop: ['ALL'], command: [name] });
      expect(unknownSettings(Object.keys(services[name]?.environment ?? {}).join('=\n'))).toEqual([]);
    }
    expect(services['gateway']).toMatchObject({ ports: ['127.0.0.1:8080:8080'] });
    for (const name of ['redis', 'postgres']) expect(services[name]).toMatchObject({ networks: ['stores'] });
    expect(networks['stores']).toEqual({ internal: true });
    const redis = services['redis']?.command.join(' ');
    for (const option of ['maxmemory-policy noeviction', 'appendonly yes', 'appendfsync everysec', 'pubsub 256mb 64mb 60']) {
      expect(redis).toContain(option);
    }
  });

  it.skipIf(!isThere('compose-spec'))('satisfies the Compose Specification (needs compose-spec)', () => {
    // compose-spec reads neither the environment nor `.env`.
    const text = read('operating/container/compose.yaml').replaceAll(
      /\$\{\w+:(?:\?|-([^}]*))\}/g,
      (_, standard?: string) => standard ?? 'a',
    );
    expect(text).not.toContain('${');
    const file = join(temporaryFolder(), 'compose.yaml');
    writeFileSync(file, text);
    expect(parse(run('compose-spec', file))).toMatchObject({ name: 'sluice', services: { gateway: { read_only: true } } });
    writeFileSync(file, text.replaceAll('read_only:', 'readonly:'));
    expect(spawnSync('compose-spec', [file]).status).not.toBe(0);
  });
});

interface Rendered {
  readonly spec?: {
    readonly template?: { readonly spec: { readonly initContainers?: readonly object[]; readonly containers: readonly object[] } };
  };
}

describe('the chart', () => {
  it('has the version of the program, and names known settings', () => {
    expect(parse(read('operating/chart/Chart.yaml'))).toMatchObject({ version: manifest.version, appVersion: manifest.version });
    const { gateway, ingest, settings: ofAll } = parse(read('operating/chart/values.yaml')) as Record<string, { settings?: object }>;
    const names = Object.keys({ ...ofAll, ...gateway?.settings, ...ingest?.settings });
    expect(unknownSettings(names.map((name) => `${name}=`).join('\n'))).toEqual([]);
    for (const name of readdirSync(join(root, 'operating/chart/templates'))) {
      expect(unknownSettings(read(`operating/chart/templates/${name}`))).toEqual([]);
    }
  });

  it.skipIf(!isThere('helm'))('satisfies helm, and renders pods that are not privileged (needs helm)', () => {
    const values = ['--set', 'settingsSecret=a,filesSecret=b', '--kube-version', '1.31.0'];
    run('helm', 'lint', '--strict', 'chart', ...values);
    const documents = run('helm', 'template', 'a', 'chart', ...values)
      .split(/^---$/m)
      .map((text) => parse(text) as Rendered | null);
    const pods = documents.flatMap((document) => (document?.spec?.template === undefined ? [] : [document.spec.template.spec]));
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true, runAsUser: 10_001 } });
      const containers = [...(pod.initContainers ?? []), ...pod.containers];
      for (const container of containers) {
        expect(container).toMatchObject({ securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false } });
      }
    }
    const { stderr } = spawnSync('helm', ['template', 'a', 'chart', ...values.slice(2)], {
      cwd: join(root, 'operating'),
      encoding: 'utf8',
    });
    expect(stderr).toContain('name a Secret');
  });

  it.skipIf(!isThere('helm') || !isThere('kubernetes-validate'))(
    'renders documents that Kubernetes accepts (needs helm and kubernetes-validate)',
    () => {
      const all = ['settingsSecret=a', 'filesSecret=b', 'imagePullSecrets[0].name=c', 'nodeSelector.a=b', 'tolerations[0].key=a'];
      const more = ['metricsFrom.a=b', 'service.annotations.a=b', 'gateway.storage.className=a', 'settings.LOG_LEVEL=info'];
      const file = join(temporaryFolder(), 'chart.yaml');
      for (const values of [all.slice(0, 2), [...all, ...more]]) {
        const set = values.flatMap((value) => ['--set', value]);
        writeFileSync(file, run('helm', 'template', 'a', 'chart', '--kube-version', '1.31.0', ...set));
        run('kubernetes-validate', '--strict', '--kubernetes-version', '1.31', file);
      }
    },
  );
});
