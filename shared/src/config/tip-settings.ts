import type { Config } from './config.ts';
import { shown, type Fault, type Get } from './fault.ts';
import { readSol } from './signer-settings.ts';

/** Least that a Jito block engine takes a transaction for, lamports. */
export const leastJitoTip = 1_000n;
/** The same of a Helius Sender, and of one that sends by stake alone (`swqos_only=true`). */
const leastSenderTip = 1_000_000n;
const leastSenderTipByStake = 5_000n;
/** More is a mistake: 0.1 SOL. */
export const mostTip = 100_000_000n;

/** Least that the Sender at this address takes a transaction for, lamports. */
export function senderLeast(url: string): bigint {
  return URL.canParse(url) && new URL(url).searchParams.get('swqos_only') === 'true' ? leastSenderTipByStake : leastSenderTip;
}

/** Tips for the lanes that want one; by default what the lane wants at least. */
export function readTips(
  { jitoUrl, senderUrl }: Pick<Config['broadcast'], 'jitoUrl' | 'senderUrl'>,
  get: Get,
  fault: Fault,
): Pick<Config['broadcast'], 'jitoTip' | 'senderTip'> {
  const read = (name: 'JITO_TIP_SOL' | 'SENDER_TIP_SOL', urlName: string, url: string | null, least: bigint): bigint => {
    const text = get(name);
    if (text === null) return url === null ? 0n : least;
    if (url === null) {
      fault(name, `needs ${urlName}`);
      return 0n;
    }
    const tip = readSol(text);
    if (tip === null) fault(name, `${shown(text)} is no sum of SOL: digits, with nine of them behind the point at most`);
    else if (tip < least) fault(name, `is less than the ${least} lamports that ${urlName} takes a transaction for`);
    else if (tip > mostTip) fault(name, `is more than ${mostTip} lamports`);
    return tip ?? 0n;
  };
  return {
    jitoTip: read('JITO_TIP_SOL', 'JITO_URL', jitoUrl, leastJitoTip),
    senderTip: read('SENDER_TIP_SOL', 'SENDER_URL', senderUrl, senderUrl === null ? 0n : senderLeast(senderUrl)),
  };
}
