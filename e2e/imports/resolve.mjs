// Copies packages that ship their sources to the given folder, as the workspace they come from, and
// prints how esbuild and TypeScript resolve each import of each source file, as JSON:
//   { kept: [path], sources: [path], imports: [{ from, spec, esbuild, typescript }] }
// kept are the files that a repository would contain. Paths are relative to the workspace; null
// means a file outside it. Built files exist too, so that the resolvers find them, but they are
// empty: an import of a built file counts as an import of its source.
import * as esbuild from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const here = path.dirname(fileURLToPath(import.meta.url))
const root = fs.realpathSync(process.argv[2])

// The output folders of each package's build, and built files whose name differs from their source.
const packages = {
  '@effect/cli': { out: ['dist/esm', 'dist/cjs', 'dist/dts'] },
  '@noble/curves': { out: ['.'] },
  '@noble/hashes': { out: ['.'] },
  '@tanstack/history': { out: ['dist/esm', 'dist/cjs'] },
  '@tanstack/query-core': { out: ['build/modern'] },
  '@tanstack/query-persist-client-core': { out: ['build/modern'] },
  '@tanstack/react-query': { out: ['build/modern'] },
  '@tanstack/react-router': { out: ['dist/esm', 'dist/cjs'] },
  '@tanstack/react-store': { out: ['dist'] },
  '@tanstack/router-core': { out: ['dist/esm', 'dist/cjs'] },
  '@tanstack/store': { out: ['dist'] },
  '@wagmi/core': { out: ['dist/esm', 'dist/types'] },
  effect: { out: ['dist/esm', 'dist/cjs', 'dist/dts'] },
  mobx: { out: ['dist'], entry: { 'dist/index.js': 'src/mobx.ts' } },
  'mobx-react-lite': { out: ['dist'] },
  rxjs: { out: ['dist/cjs', 'dist/types'] },
  wagmi: { out: ['dist/esm', 'dist/types'] },
  zod: { out: ['.'] },
}

const isSource = /\.([cm]?[jt]sx?|css)$/
const isBuilt = /\.[cm]?(js|ts)$/

// filesIn yields the files in a folder and its subfolders, by relative path.
function* filesIn(folder, beneath = '') {
  for (const entry of fs.readdirSync(path.join(folder, beneath), { withFileTypes: true })) {
    const name = path.posix.join(beneath, entry.name)
    if (!entry.isDirectory()) yield name
    else if (entry.name !== 'node_modules') yield* filesIn(folder, name)
  }
}

const write = (file, content) => {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, content)
}

const folderOf = (name) => path.posix.join('packages', name.replace('@', '').replace('/', '-'))

// createWorkspace creates the workspace, and returns the paths that a repository would contain.
function createWorkspace() {
  const kept = []
  const keep = (file, content) => {
    write(path.join(root, file), content)
    kept.push(file)
  }
  for (const file of filesIn(path.join(here, 'fixture'))) keep(file, fs.readFileSync(path.join(here, 'fixture', file)))
  for (const [name, { out }] of Object.entries(packages)) {
    const from = path.join(here, 'node_modules', name)
    for (const file of filesIn(from)) {
      const to = path.posix.join(folderOf(name), file)
      if (/^(src\/|package\.json|tsconfig)/.test(file)) keep(to, fs.readFileSync(path.join(from, file)))
      else if (isBuilt.test(file) && out.some((folder) => folder === '.' || file.startsWith(folder))) write(path.join(root, to), '')
    }
  }
  for (const file of kept.filter((file) => /^(packages|apps)\/[^/]+\/package\.json$/.test(file))) {
    const link = path.join(root, 'node_modules', JSON.parse(fs.readFileSync(path.join(root, file))).name)
    fs.mkdirSync(path.dirname(link), { recursive: true })
    fs.symlinkSync(path.join(root, path.dirname(file)), link, 'dir')
  }
  return kept
}

const kept = createWorkspace()
const known = new Set(kept)

// sourceOf returns the source file for a resolved file, or null if there is none.
function sourceOf(answer) {
  const file = path.relative(root, answer).replaceAll(path.sep, '/')
  if (known.has(file)) return file
  const name = Object.keys(packages).find((name) => file.startsWith(folderOf(name) + '/'))
  if (!name) return null
  const folder = folderOf(name)
  const beneath = path.posix.relative(folder, file)
  const { out, entry = {} } = packages[name]
  const candidates = []
  if (entry[beneath]) candidates.push(entry[beneath])
  for (const outFolder of out) {
    const tail = path.posix.relative(outFolder, beneath).replace(/(\.d)?\.[cm]?[jt]s$/, '')
    for (const extension of ['.ts', '.tsx', '.d.ts', '.js']) candidates.push(path.posix.join('src', tail + extension))
  }
  const found = candidates.find((candidate) => known.has(path.posix.join(folder, candidate)))
  return found ? path.posix.join(folder, found) : null
}

const answers = new Map()
const record = (from, spec, by, to) => {
  const key = from + '\0' + spec
  if (!answers.has(key)) answers.set(key, { from, spec, esbuild: null, typescript: null })
  if (to) answers.get(key)[by] ??= to
}

async function resolveWithEsbuild(sources) {
  const asked = Symbol()
  await esbuild.build({
    absWorkingDir: root, entryPoints: sources, outdir: path.join(root, 'out'), outbase: root, write: false, bundle: true,
    platform: 'node', format: 'esm', logLevel: 'silent', conditions: ['@tanstack/custom-condition'],
    resolveExtensions: ['.ts', '.tsx', '.js', '.jsx', '.css', '.json'],
    plugins: [{
      name: 'ask',
      setup(build) {
        build.onResolve({ filter: /.*/ }, async (args) => {
          if (args.kind === 'entry-point' || args.pluginData === asked) return
          const { importer, resolveDir, kind } = args
          const result = await build.resolve(args.path, { importer, resolveDir, kind, pluginData: asked })
          const inside = result.errors.length === 0 && !result.external && result.namespace === 'file'
          record(path.relative(root, importer), args.path, 'esbuild', inside ? sourceOf(result.path) : null)
          return { path: args.path, external: true }
        })
      },
    }],
  })
}

const isImportMetaURL = (node) => node && ts.isPropertyAccessExpression(node) && node.getText() === 'import.meta.url'

// specifiers returns the imports of a file according to TypeScript's parser, types included, and
// the relative paths in it.
function specifiers(file, text) {
  const found = []
  const paths = []
  const add = (node) => node && ts.isStringLiteralLike(node) && found.push(node.text)
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier)
    else if (ts.isExternalModuleReference(node)) add(node.expression)
    else if (ts.isImportTypeNode(node)) add(node.argument.literal)
    else if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) add(node.name)
    else if (ts.isNewExpression(node) && node.expression.getText() === 'URL' && isImportMetaURL(node.arguments?.[1])) {
      if (ts.isStringLiteralLike(node.arguments[0])) paths.push(node.arguments[0].text)
    } else if (ts.isCallExpression(node)) {
      const called = node.expression
      if (called.kind === ts.SyntaxKind.ImportKeyword || /^require(\.resolve)?$/.test(called.getText())) add(node.arguments[0])
    }
    ts.forEachChild(node, visit)
  }
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  visit(source)
  for (const reference of source.referencedFiles) paths.push(reference.fileName)
  return { specs: found, paths }
}

const configs = new Map()

// optionsFor returns the options of the nearest configuration, like an editor. If that refers to
// other projects, it returns those of the project that contains the file.
function optionsFor(file) {
  const config = ts.findConfigFile(path.dirname(file), ts.sys.fileExists)
  if (!configs.has(config)) configs.set(config, readConfig(config))
  const { own, projects } = configs.get(config)
  return projects.find((project) => project.files.has(file)) ?? own
}

function readConfig(config) {
  const parsed = ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} })
  const options = { ...parsed.options, allowJs: true }
  const cache = ts.createModuleResolutionCache(root, (name) => name, options)
  const project = { options, cache, files: new Set(parsed.fileNames) }
  const projects = (parsed.projectReferences ?? []).map((reference) => readConfig(ts.resolveProjectReferencePath(reference)).own)
  return { own: project, projects: project.files.size === 0 ? projects : [] }
}

function resolveWithTypeScript(sources) {
  for (const source of sources.filter((source) => !source.endsWith('.css'))) {
    const file = path.join(root, source)
    const { options, cache } = optionsFor(file)
    const { specs, paths } = specifiers(file, fs.readFileSync(file, 'utf8'))
    for (const spec of specs) {
      const { resolvedModule } = ts.resolveModuleName(spec, file, options, ts.sys, cache)
      record(source, spec, 'typescript', resolvedModule ? sourceOf(resolvedModule.resolvedFileName) : null)
    }
    for (const named of paths) record(source, named, 'typescript', sourceOf(path.resolve(path.dirname(file), named)))
  }
}

const sources = kept.filter((file) => isSource.test(file) && !/\.d\.[cm]?ts$/.test(file))
await resolveWithEsbuild(sources)
resolveWithTypeScript(sources)
fs.writeSync(1, JSON.stringify({ kept, sources, imports: [...answers.values()] }))
