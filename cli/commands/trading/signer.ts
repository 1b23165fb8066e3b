import { serveSigner } from '@sluice/trading/signer/service.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { onStop, type StopReason } from '@sluice/shared/runtime/process/on-stop.ts';
import { action, CommandError, loadConfig, option, UsageError } from '../../command-line/command.ts';

export const command = action({
  about: 'Run the signing process as a separate user. Gateways connect to its socket.',
  options: { keystore: option('NAME', 'cluster or simnet: the wallets that it signs with. Default: cluster') },
  more: `Settings: SIGNER_SOCKET and SIGNER_DIR (folder of the policy and the audit logs) and KEYSTORE_PASSPHRASE_FILE are required;
SIGNER_MAX_ORDER_SOL and SIGNER_MAX_DAY_SOL limit what it signs. The user of the gateways needs no access to these files.
It runs until SIGINT or SIGTERM. OPERATING.md describes the setup.`,
  async run(values) {
    const keystore = values.keystore ?? 'cluster';
    if (keystore !== 'cluster' && keystore !== 'simnet') throw new UsageError('--keystore takes cluster or simnet');
    const config = loadConfig();
    const { signerSocket: socket, signerDir: folder, keystorePassphraseFile: passphraseFile } = config;
    if (socket === null) throw new CommandError('SIGNER_SOCKET is not set. It is the socket that gateways connect to.');
    if (folder === null)
      throw new CommandError('SIGNER_DIR is not set. It is a folder that only the user of the signing process may enter.');
    if (passphraseFile === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set. Its passphrase unlocks the wallets.');
    const log = createLog({ level: config.logLevel, name: 'signer' });
    const ends = new Promise<StopReason>((resolve) => onStop(process.env, resolve));
    const service = await serveSigner({ socket, folder, keystore, passphraseFile, limits: config.signerLimits, log });
    log.info({ reason: await ends }, 'stopping');
    await service.close();
    return 0;
  },
});
