/**
 * Puts each block's text between its markers, `<!-- generated: name -->` and `<!-- /generated -->`. Throws where the document
 * lacks a block or has one that nothing fills: either way a table would be missing or go stale unseen.
 */
export function fillBlocks(document: string, blocks: Readonly<Record<string, string>>): string {
  const found = new Set<string>();
  const filled = document.replaceAll(/<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- \/generated -->/g, (_whole, name: string) => {
    const text = blocks[name];
    if (text === undefined) throw new Error(`nothing fills the block "${name}"`);
    found.add(name);
    return `<!-- generated: ${name} -->\n${text}\n<!-- /generated -->`;
  });
  const missing = Object.keys(blocks).filter((name) => !found.has(name));
  if (missing.length > 0) throw new Error(`the document has no block for: ${missing.join(', ')}`);
  return filled;
}
