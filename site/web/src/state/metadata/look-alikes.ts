/** Letters of other scripts that look like a Latin letter or digit, after Unicode's confusables (UTS #39). Each group: what they look like, and they. */
const groups: readonly (readonly [string, string])[] = [
  ['A', 'АΑᎪꓮᗅᴀ'],
  ['B', 'ВΒᏴꓐᗷʙ'],
  ['C', 'СϹᏟꓚᴄ'],
  ['D', 'ᎠꓓᗞᴅԀ'],
  ['E', 'ЕΕᎬꓰᴇ'],
  ['F', 'ϜꓝᖴꜰҒ'],
  ['G', 'ᏀꓖɢԌ'],
  ['H', 'НΗᎻꓧᕼʜ'],
  ['I', 'ІΙӀꓲɪⵏ'],
  ['J', 'ЈᎫꓙᒍᴊ'],
  ['K', 'КΚᏦꓗᴋ'],
  ['L', 'ᏞꓡᒪʟԼ'],
  ['M', 'МΜᎷꓟᴍϺ'],
  ['N', 'ΝꓠɴԤ'],
  ['O', 'ОΟՕꓳᴏⵔ'],
  ['P', 'РΡᏢꓑᑭᴘ'],
  ['Q', 'Ԛⵕ'],
  ['R', 'ᎡꓣᖇʀƦ'],
  ['S', 'ЅՏᏚꓢꜱ'],
  ['T', 'ТΤᎢꓔᴛ₮Ⲧ'],
  ['U', 'ՍꓴᑌᴜԱ'],
  ['V', 'ᏙꓦᴠѴⴸ'],
  ['W', 'ԜᎳꓪᴡ'],
  ['X', 'ХΧꓫⅩᚷ'],
  ['Y', 'УΥҮꓬʏ'],
  ['Z', 'ΖᏃꓜᴢ'],
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

/**
 * What can be read as a letter although nobody mistakes the two side by side, so that languages may use it: first the letters that Unicode calls
 * "… WITH STROKE", "… WITH HOOK" and the like and that have no decomposition (Unicode 14), then signs of currencies, and letters that
 * decorated texts use. Small letters that have a capital here are left out.
 */
const similar: readonly (readonly [string, string])[] = [
  ['A', 'Ⱥᶏᶐ₳ΛΔ@Ɐ卂ᗩ'],
  ['B', 'ƁƂɃᵬᶀꞖ₿ßẞ乃ᙠ'],
  ['C', 'ƇȻɕҪꞒꟄ𝼝₵¢₡Ɔ匚ᑕ'],
  ['D', 'ĐƊƋȡɖᵭᶁᶑꟇÐƉᗪᗫ'],
  ['E', 'Ɇҿᶒⱸꬴ€ΣΞƎƐ乇ᗴ'],
  ['F', 'ƑᵮᶂꞘ₣千'],
  ['G', 'ƓǤʛᶃꞠꬶ₲ᘜ'],
  ['H', 'ĦҢӇӉԢԧԨⱧꞕꞪ卄ዘ'],
  ['I', 'ɨᵼᶖ𝼚丨'],
  ['J', 'ɈꞲ丿'],
  ['K', 'ƘҚҜҞӃᶄⱩꝀꝂꝄꞢ₭'],
  ['L', 'ŁƗȴȽɭᴌᶅⱠⱢꝈꞎꞭꬷꬸꬹ𝼄𝼑𝼓£₤ㄥ'],
  ['M', 'ӍᵯᶆⱮꬺƜ爪ᗰ'],
  ['N', 'ƝȠȵɳҧԥᵰᶇꞐꞤꬻ₦Ո几ᑎ'],
  ['O', 'ØƟⱺꝊꝌ𝼛ⵁㄖᗝΘΩ'],
  ['P', 'ƤҎᵱᶈⱣꝐꝒꝔ₱Þ卩'],
  ['Q', 'ɋʠꝖꝘᑫ'],
  ['R', 'ɌɼɾґғҕӷӻᵲᵳᶉⱤꞦꭆꭉ𝼖Я尺ᖆ'],
  ['S', 'ᵴᶊⱾꞨꟅꟉ𝼞§ƧƩ丂ᔕ'],
  ['T', 'ŦƫƬƮȶȾҬᵵꚊ𝼉₸ㄒ丅'],
  ['U', 'ᶙꞸꭎꭒƱㄩՄ'],
  ['V', 'ƲᶌⱱⱴꝞᐯ∨'],
  ['W', 'Ⱳ₩山ᗯШ'],
  ['X', 'ҲӼӾᶍꭖꭗꭘꭙ乂᙭'],
  ['Y', 'ƳɎҰỾꭚ¥ㄚЧ'],
  ['Z', 'ƵȤʐʑᵶⱫⱿꟆ乙ᘔ'],
];
/** The first of 26 letters in order: white on black in a circle and in a square, and as parts of a flag. */
const alphabets = [0x1_f1_50, 0x1_f1_70, 0x1_f1_e6];

const byLetter = (rows: typeof groups): ReadonlyMap<string, string> =>
  new Map(rows.flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)));
const latin = byLetter(groups);
const resembled = byLetter([
  ...similar,
  ...alphabets.flatMap((first) =>
    Array.from({ length: 26 }, (_, at) => [String.fromCodePoint(65 + at), String.fromCodePoint(first + at)] as const),
  ),
]);
/** Digits and signs in place of letters: `S0L`, `U$DC`. */
const inPlaceOf: ReadonlyMap<string, string> = new Map([
  ['0', 'O'],
  ['1', 'I'],
  ['L', 'I'],
  ['3', 'E'],
  ['4', 'A'],
  ['5', 'S'],
  ['7', 'T'],
  ['8', 'B'],
  ['$', 'S'],
  ['|', 'I'],
]);

/** The text with each look-alike of a Latin letter replaced by the letter, and other forms of a character by its usual one. */
export function withLatinLetters(text: string): string {
  return Array.from(text.normalize('NFKC'), (letter) => latin.get(letter) ?? letter).join('');
}

/** Two texts with the same shape can be taken for each other at a glance: without case, accents, strokes and signs, and with digits as letters. */
export function shapeOf(text: string): string {
  const withoutMarks = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const letters = withSimilarLetters(withSimilarLetters(withoutMarks).toUpperCase());
  // A dollar sign before a symbol says only that it is one.
  return Array.from(letters.replace(/^\$/, ''), (letter) => inPlaceOf.get(letter) ?? letter)
    .join('')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function withSimilarLetters(text: string): string {
  return Array.from(withLatinLetters(text), (letter) => resembled.get(letter) ?? letter).join('');
}
