import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings/settings.ts';
import { action } from '../../command-line/command.ts';
import { withProgress } from '../../command-line/progress.ts';
import { checkChain } from './chain.ts';
import { fail, ok, type Finding } from './finding.ts';
import { checkFoldersAbove } from './folders-above.ts';
import { checkGateway, checkSharedPort } from './gateway.ts';
import { checkDataDir, checkNativeServer, checkNode, checkPassphrase } from './machine.ts';
import { checkPublic } from './public.ts';
import { checkRedis } from './redis.ts';
import { checkTrading } from './trading.ts';

export const command = action({
  about: 'Check everything that sluice needs: settings, Redis, RPC and gRPC nodes, clock, data folder and gateway.',
  json: 'print one JSON object: {"ok", "checks": [{"name", "state", "detail"}]}',
  more: 'It prints one line for each check: ok, warn or fail. The exit code is 1 if a check failed.',
  async run() {
    const findings = await withProgress('checking nodes, Redis, the store and the gateway', examine);
    const isHealthy = findings.every((finding) => finding.state !== 'fail');
    const text = findings.map(({ name, state, detail }) => `${state.padEnd(4)}  ${name.padEnd(13)}  ${detail}`).join('\n');
    return { json: { ok: isHealthy, checks: findings }, text, code: isHealthy ? 0 : 1 };
  },
});

async function examine(): Promise<readonly Finding[]> {
  const envFile = loadEnvFile(process.env);
  const machine = [checkNode(), checkNativeServer(), checkFoldersAbove(process.cwd())];
  const settings = readSettings(process.env, { envFile });
  if (!settings.ok) return [...machine, ...settings.faults.map((fault) => fail('settings', fault))];
  const { config } = settings;
  const reached = await Promise.all([checkRedis(config), checkChain(config), checkGateway(config).then((finding) => [finding])]);
  return [
    ...machine,
    ok('settings', 'all right'),
    ...(await checkDataDir(config)),
    checkPassphrase(config),
    ...(await checkTrading(config)),
    ...checkPublic(config),
    ...checkSharedPort(config),
    ...reached.flat(),
  ];
}
