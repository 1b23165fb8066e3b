import { inQuotes, readSol, type SettingReader } from '../setting-reader.ts';
import { leastJitoTip, leastTipOfSender, mostTip } from './tip-limits.ts';

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
