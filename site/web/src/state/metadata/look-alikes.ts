/**
 * Letters and what looks like them, in each row: the Latin letter; letters of other scripts that look like it, after Unicode's confusables (UTS #39);
 * what can be read as it although nobody mistakes the two side by side, so that languages may use it. The last are first the letters that Unicode
 * calls "… WITH STROKE", "… WITH HOOK" and the like and that have no decomposition (Unicode 14), then signs of currencies, and letters that
 * decorated texts use. Small letters that have a capital there are left out.
 */
const rows: readonly (readonly [letter: string, alike: string, similar?: string])[] = [
  ['A', 'АΑᎪꓮᗅᴀ', 'Ⱥᶏᶐ₳ΛΔ@Ɐ卂ᗩ'],
  ['B', 'ВΒᏴꓐᗷʙ', 'ƁƂɃᵬᶀꞖ₿ßẞ乃ᙠ'],
  ['C', 'СϹᏟꓚᴄ', 'ƇȻɕҪꞒꟄ𝼝₵¢₡Ɔ匚ᑕ'],
  ['D', 'ᎠꓓᗞᴅԀ', 'ĐƊƋȡɖᵭᶁᶑꟇÐƉᗪᗫ'],
  ['E', 'ЕΕᎬꓰᴇ', 'Ɇҿᶒⱸꬴ€ΣΞƎƐ乇ᗴ'],
  ['F', 'ϜꓝᖴꜰҒ', 'ƑᵮᶂꞘ₣千'],
  ['G', 'ᏀꓖɢԌ', 'ƓǤʛᶃꞠꬶ₲ᘜ'],
  ['H', 'НΗᎻꓧᕼʜ', 'ĦҢӇӉԢԧԨⱧꞕꞪ卄ዘ'],
  ['I', 'ІΙӀꓲɪⵏ', 'ɨᵼᶖ𝼚丨'],
  ['J', 'ЈᎫꓙᒍᴊ', 'ɈꞲ丿'],
  ['K', 'КΚᏦꓗᴋ', 'ƘҚҜҞӃᶄⱩꝀꝂꝄꞢ₭'],
  ['L', 'ᏞꓡᒪʟԼ', 'ŁƗȴȽɭᴌᶅⱠⱢꝈꞎꞭꬷꬸꬹ𝼄𝼑𝼓£₤ㄥ'],
  ['M', 'МΜᎷꓟᴍϺ', 'ӍᵯᶆⱮꬺƜ爪ᗰ'],
  ['N', 'ΝꓠɴԤ', 'ƝȠȵɳҧԥᵰᶇꞐꞤꬻ₦Ո几ᑎ'],
  ['O', 'ОΟՕꓳᴏⵔ', 'ØƟⱺꝊꝌ𝼛ⵁㄖᗝΘΩ'],
  ['P', 'РΡᏢꓑᑭᴘ', 'ƤҎᵱᶈⱣꝐꝒꝔ₱Þ卩'],
  ['Q', 'Ԛⵕ', 'ɋʠꝖꝘᑫ'],
  ['R', 'ᎡꓣᖇʀƦ', 'ɌɼɾґғҕӷӻᵲᵳᶉⱤꞦꭆꭉ𝼖Я尺ᖆ'],
  ['S', 'ЅՏᏚꓢꜱ', 'ᵴᶊⱾꞨꟅꟉ𝼞§ƧƩ丂ᔕ'],
  ['T', 'ТΤᎢꓔᴛ₮Ⲧ', 'ŦƫƬƮȶȾҬᵵꚊ𝼉₸ㄒ丅'],
  ['U', 'ՍꓴᑌᴜԱ', 'ᶙꞸꭎꭒƱㄩՄ'],
  ['V', 'ᏙꓦᴠѴⴸ', 'ƲᶌⱱⱴꝞᐯ∨'],
  ['W', 'ԜᎳꓪᴡ', 'Ⱳ₩山ᗯШ'],
  ['X', 'ХΧꓫⅩᚷ', 'ҲӼӾᶍꭖꭗꭘꭙ乂᙭'],
  ['Y', 'УΥҮꓬʏ', 'ƳɎҰỾꭚ¥ㄚЧ'],
  ['Z', 'ΖᏃꓜᴢ', 'ƵȤʐʑᵶⱫⱿꟆ乙ᘔ'],
  ['a', 'аαɑ'],
  ['c', 'сϲⲥ'],
  ['d', 'ԁꓒ'],
  ['e', 'еҽ'],
  ['g', 'ɡց'],
  ['h', 'һհ'],
  ['i', 'іιıɩ'],
  ['j', 'јϳ'],
  ['k', 'κк'],
  ['l', 'ӏⲓǀ'],
  ['n', 'ոп'],
  ['o', 'оοօσ'],
  ['p', 'рρ'],
  ['q', 'ԛզ'],
  ['r', 'гᴦ'],
  ['s', 'ѕ'],
  ['t', 'т'],
  ['u', 'υս'],
  ['v', 'νѵ'],
  ['w', 'ԝա'],
  ['x', 'хχ'],
  ['y', 'уγү'],
];
/** The first of 26 letters in order: white on black in a circle and in a square, and as parts of a flag. */
const alphabets = [0x1_f1_50, 0x1_f1_70, 0x1_f1_e6];

const byLetter = (groups: readonly (readonly [string, string])[]): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)));
const latin = byLetter(rows.map(([letter, alike]) => [letter, alike]));
const resembled = byLetter([
  ...rows.map(([letter, , similar = '']) => [letter, similar] as const),
  ...alphabets.flatMap((first) =>
    Array.from({ length: 26 }, (_, at) => [String.fromCodePoint(65 + at), String.fromCodePoint(first + at)] as const),
  ),
]);
/** Digits and signs in place of letters: `S0L`, `U$DC`. */
const inPlaceOf: Readonly<Record<string, string>> = { 0: 'O', 1: 'I', 3: 'E', 4: 'A', 5: 'S', 7: 'T', 8: 'B', L: 'I', $: 'S', '|': 'I' };

/** The text with each look-alike of a Latin letter replaced by the letter, and other forms of a character by its usual one. */
export function withLatinLetters(text: string): string {
  return Array.from(text.normalize('NFKC'), (letter) => latin.get(letter) ?? letter).join('');
}

/** Two texts with the same shape can be taken for each other at a glance: without case, accents, strokes and signs, and with digits as letters. */
export function shapeOf(text: string): string {
  const withoutMarks = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const letters = withSimilarLetters(withSimilarLetters(withoutMarks).toUpperCase());
  // A dollar sign before a symbol says only that it is one.
  return Array.from(letters.replace(/^\$/, ''), (letter) => inPlaceOf[letter] ?? letter)
    .join('')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function withSimilarLetters(text: string): string {
  return Array.from(withLatinLetters(text), (letter) => resembled.get(letter) ?? letter).join('');
}
