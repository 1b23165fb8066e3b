import { once } from 'node:events';
import { serveSigner } from '@sluice/gateway/signer/service.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { CommandError, UsageError, loadConfig, parseCommand, positionalsOf, type Command } from '../command.ts';

export const signerCommand: Command = {
  help: `Usage:
  sluice signer [--keystore cluster|simnet]
      signs for the gateways that connect to SIGNER_SOCKET, as a user of its own: passphrase (KEYSTORE_PASSPHRASE_FILE), limits
      (SIGNER_MAX_ORDER_SOL, SIGNER_MAX_DAY_SOL), policy and audit logs (SIGNER_DIR) are out of reach of the gateway's user.
      Runs until it gets the signal to end; OPERATING.md says how it is set up.`,
  async run(argv) {
    const { values, positionals } = parseCommand(argv, { keystore: { type: 'string' }, json: { type: 'boolean' } });
    positionalsOf(positionals);
    const keystore = values.keystore ?? 'cluster';
    if (keystore !== 'cluster' && keystore !== 'simnet') throw new UsageError('--keystore takes cluster or simnet');
    const {
      signerSocket: socket,
      signerDir: folder,
      keystorePassphraseFile: passphraseFile,
      signerLimits: limits,
      logLevel,
    } = loadConfig();
    if (socket === null) throw new CommandError('SIGNER_SOCKET is not set: where gateways connect to.');
    if (folder === null) throw new CommandError('SIGNER_DIR is not set: a folder that only the user of the signing process may enter.');
    if (passphraseFile === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set: it unlocks the wallets.');
    const log = createLog({ level: logLevel, name: 'signer' });
    const ends = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    const service = await serveSigner({ socket, folder, keystore, passphraseFile, limits, log });
    await ends;
    await service.close();
    return 0;
  },
};
