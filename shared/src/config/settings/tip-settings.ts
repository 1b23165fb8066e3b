import { inQuotes, readSol, type SettingReader } from '../setting-reader.ts';

/** Lowest tip that a Jito block engine accepts, lamports. */
export const leastJitoTip = 1_000n;
/** Lowest tip of a Helius Sender, and of a Sender whose address contains `swqos_only=true`: it uses staked connections only. */
const leastSenderTip = 1_000_000n;
const leastStakedSenderTip = 5_000n;
/** 0.1 SOL. A higher tip is treated as a mistake. */
export const mostTip = 100_000_000n;

/** Lowest tip that the Sender at this address accepts, lamports. */
export function leastTipOfSender(url: string): bigint {
  return URL.canParse(url) && new URL(url).searchParams.get('swqos_only') === 'true' ? leastStakedSenderTip : leastSenderTip;
}

/** Reads the tips of the lanes that are configured. The default is the lowest tip of the lane. */
export function readTips({ jitoUrl, senderUrl }: Readonly<Record<'jitoUrl' | 'senderUrl', string | null>>, read: SettingReader) {
  const tipOf = (name: 'JITO_TIP_SOL' | 'SENDER_TIP_SOL', urlName: string, url: string | null, least: bigint): bigint => {
    const text = read.get(name);
    if (text === null) return url === null ? 0n : least;
    if (url === null) {
      read.fault(name, `requires ${urlName}`);
      return 0n;
    }
    const tip = readSol(text);
    if (tip === null) read.fault(name, `${inQuotes(text)} is not an amount of SOL with at most nine decimals`);
    else if (tip < least) read.fault(name, `is less than ${least} lamports, the lowest tip that ${urlName} accepts`);
    else if (tip > mostTip) read.fault(name, `is more than ${mostTip} lamports`);
    return tip ?? 0n;
  };
  return {
    jitoTip: tipOf('JITO_TIP_SOL', 'JITO_URL', jitoUrl, leastJitoTip),
    senderTip: tipOf('SENDER_TIP_SOL', 'SENDER_URL', senderUrl, senderUrl === null ? 0n : leastTipOfSender(senderUrl)),
  };
}
