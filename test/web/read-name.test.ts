import { readName, type NameFault } from '@sluice/site/web/state/metadata/read-name.ts';
import { imitatedBy } from '@sluice/site/web/state/metadata/well-known.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const usdt = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const someMint = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB264';

describe('a name that its creator chose', () => {
  it.each<[raw: string, text: string, fault: NameFault | null]>([
    ['USDT', 'USDT', null],
    ['CAFÉ', 'CAFÉ', null],
    ['Łódź Đồng Øre', 'Łódź Đồng Øre', null],
    ['Привет, мир', 'Привет, мир', null],
    ['狗狗币 DOGE', '狗狗币 DOGE', null],
    ['ビットコインBTC', 'ビットコインBTC', null],
    ['مرحبا', 'مرحبا', null],
    ['👨‍👩‍👧 Family ❤️', '👨‍👩‍👧 Family ❤️', null],
    ['padded\0\0\0', 'padded', null],
    ['\u202ETDSU', 'TDSU', 'hidden'],
    ['US\u200BDT', 'USDT', 'hidden'],
    ['US\u200DDT', 'USDT', 'hidden'],
    ['\u3164', '', 'hidden'],
    ['a\u00A0b', 'a b', 'hidden'],
    ['two\nlines', 'twolines', 'hidden'],
    ['a\u0301\u0302\u0303\u0304', 'a\u0301\u0302', 'hidden'],
    ['USDТ', 'USDТ', 'alike'],
    ['ＵＳＤＴ', 'ＵＳＤＴ', 'alike'],
    ['𝐔𝐒𝐃𝐓', '𝐔𝐒𝐃𝐓', 'alike'],
    ['ꓢꓳꓡ', 'ꓢꓳꓡ', 'alike'],
    ['Ωmega', 'Ωmega', 'mixed'],
    ['Привеt', 'Привеt', 'mixed'],
  ])('%j is shown as %j: %s', (raw, text, fault) => expect(readName(raw)).toEqual({ text, fault }));

  it('never shows a character that cannot be seen or that turns the text around, and never more than 65 characters', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x10_ff_ff }), { maxLength: 400 }), (points) => {
        const { text } = readName(String.fromCodePoint(...points));
        expect(text.length).toBeLessThanOrEqual(65);
        expect(text.replaceAll(/\u200D|\uFE0E|\uFE0F|[\u{E0020}-\u{E007F}]/gu, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.each([
    ['USDT', 'USDT'],
    ['usdt', 'USDT'],
    ['USDТ', 'USDT'],
    ['\u202ETDSU', 'USDT'],
    ['U\u200BSDT', 'USDT'],
    ['U$D₮', 'USDT'],
    ['ÚSDT!', 'USDT'],
    ['$S0L', 'SOL'],
    ['W5OL', 'WSOL'],
    ['ᴜꜱᴅᴄ', 'USDC'],
    ['TDSU', null],
    ['USÐC', 'USDC'],
    ['USDƇ', 'USDC'],
    ['USƊT', 'USDT'],
    ['UŞĐŦ', 'USDT'],
    ['ůśđç', 'USDC'],
    ['U̸S̸D̸T̸', 'USDT'],
    ['🆄🆂🅳🅲', 'USDC'],
    ['ᑌᔕᗪᑕ', 'USDC'],
    ['ㄩ丂ᗪㄒ', 'USDT'],
    ['₿ØŇҜ', 'BONK'],
    ['Tether', 'USDT'],
    ['TETHER USD', 'USDT'],
    ['Теthеr', 'USDT'],
    ['Ŧėţħēř', 'USDT'],
    ['USD  Coin', 'USDC'],
    ['ꓴꓢꓓ Сοіn', 'USDC'],
    ['U$D-C0IN', 'USDC'],
    ['Solana', 'SOL'],
    ['dogwifhat', 'WIF'],
    ['USDTX', null],
    ['Tethered', null],
    ['Solana Cat', null],
  ])('%j of another mint is taken for %s', (symbol, expected) => expect(imitatedBy(someMint, [symbol, null])).toBe(expected));

  it('is itself with its own mint', () => {
    expect(imitatedBy(usdt, ['USDT', 'USDT'])).toBeNull();
    expect(imitatedBy(usdt, ['USD₮', 'Tether USD'])).toBeNull();
    expect(imitatedBy(usdt, ['USDC'])).toBe('USDC');
    expect(imitatedBy(usdt, ['USDT', 'USD Coin'])).toBe('USDC');
    // The name counts too.
    expect(imitatedBy(someMint, ['XYZ', 'USDT'])).toBe('USDT');
  });
});
