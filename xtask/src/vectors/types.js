// Run by `cargo xtask vectors types`: node -e SCRIPT COMPILER DIRECTORY
const ts = require(process.argv[1])
const fs = require('fs')
let failed = false
const options = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true, erasableSyntaxOnly: true, noLib: true, noResolve: true, removeComments: true };
let refusedFile = false;
const check = text => {
  const file = ts.createSourceFile('a.ts', text, ts.ScriptTarget.ESNext, true);
  const host = { getSourceFile: n => n === 'a.ts' ? file : undefined, writeFile() {}, getDefaultLibFileName: () => 'lib.d.ts', useCaseSensitiveFileNames: () => true, getCanonicalFileName: n => n, getCurrentDirectory: () => '', getNewLine: () => '\n', fileExists: n => n === 'a.ts', readFile: () => undefined };
  const program = ts.createProgram(['a.ts'], options, host);
  const syntactic = program.getSyntacticDiagnostics(file);
  const erasable = program.getSemanticDiagnostics(file).filter(d => refusedFile ? d.code < 2000 : [1294, 1203, 1202].includes(d.code));
  return { syntactic, erasable, file };
};
for (const [name, refused] of [['erased', false], ['refused', true]]) {
  refusedFile = refused;
  const path = process.argv[2] + '/' + name + '.txt';
  const blocks = fs.readFileSync(path, 'utf8').trimEnd().split('\n=====\n');
  const out = blocks.map(block => {
    const text = block.split('\n-----')[0];
    const { syntactic, erasable, file } = check(text);
    const all = [...syntactic, ...erasable];
    if (refused) {
      if (!all.length) failed = true, console.error('accepted by TypeScript:', text);
      const lines = all.map(d => { const p = file.getLineAndCharacterOfPosition(d.start); return `${p.line + 1}:${p.character + 1} TS${d.code}` });
      return text + '\n-----\n' + [...new Set(lines)].join('\n');
    }
    if (all.length) failed = true, console.error('refused by TypeScript:', text, all.map(d => d.code + ' ' + ts.flattenDiagnosticMessageText(d.messageText, ' ')));
    const js = ts.transpileModule(text, { compilerOptions: options }).outputText.trimEnd();
    return text + '\n-----\n' + js;
  });
  fs.writeFileSync(path, out.join('\n=====\n') + '\n');
}
process.exitCode = failed ? 1 : 0
