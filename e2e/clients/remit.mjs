// Helpers that start Remit for the tests of clients, over stdio or HTTP.
//
// REMIT_BIN is the path of the program. Contracts and examples come from it too, so a new tool is
// tested without changes here.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'

export const bin = process.env.REMIT_BIN
assert.ok(bin, 'REMIT_BIN must be the path of the program')

export const env = { PATH: process.env.PATH, REMIT_KEYS: process.env.REMIT_KEYS, HOME: tmpdir(), GORACE: 'atexit_sleep_ms=0', REMIT_DEADLINE_FACTOR: '20' }
export const sets = ['booster', 'learning-os']

// remit runs one command of the program and returns its output.
export function remit(...args) {
  return execFileSync(bin, args, { env, cwd: tmpdir(), encoding: 'utf8' })
}

// atTerminal runs a command as a person does who consents: at a terminal, which script(1) provides.
// It returns what the terminal showed. The answer is typed after the question, because the program
// discards what was typed before.
async function atTerminal(root, ...args) {
  const command = [bin, ...args, '--root', root].map((arg) => `'${arg}'`).join(' ')
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: tmpdir() })
  let shown = ''
  let answered = false
  terminal.stdout.on('data', (data) => {
    shown += data
    const asked = /Type (\S+), the end of the id|\[(y)\/N\] $/.exec(shown)
    if (asked && !answered) {
      answered = true
      setTimeout(() => terminal.stdin.write(`${asked[1] ?? asked[2]}\n`), readingTime)
    }
  })
  const [code] = await once(terminal, 'close')
  assert.equal(code, 0, shown)
  return shown
}

// approve approves a request.
export const approve = (id, root) => atTerminal(root, 'approvals', 'approve', id)

// dialogHeaders returns the headers of a client over HTTP whose answers count as those of a person.
export async function dialogHeaders(root) {
  const shown = await atTerminal(root, 'token', 'create', '--name', 'dialogs', '--scopes', '*', '--user', '*', '--elicitation')
  return { Authorization: `Bearer ${/^remit_\S+/m.exec(shown)[0]}` }
}

// readingTime is how long a person takes to decide, in milliseconds. A faster answer does not count.
export const readingTime = 400

// contracts returns the contracts of a toolset, as the program prints them.
const printed = new Map()
export function contracts(set) {
  if (!printed.has(set)) printed.set(set, JSON.parse(remit('tools', '--json', '--toolsets', set)))
  return printed.get(set)
}

// cleanUp runs a function after the test, in reverse order: a client closes before its server. If
// one function fails, the others still run, because otherwise a server would never stop.
export function cleanUp(t, run) {
  if (!t.cleanups) {
    t.cleanups = []
    t.after(async () => {
      const failures = []
      for (const step of t.cleanups.reverse()) {
        try {
          await step()
        } catch (failure) {
          failures.push(failure)
        }
      }
      if (failures.length > 0) throw failures[0]
    })
  }
  t.cleanups.push(run)
}

// exits are the exit codes and logs of the servers, and roots are their workspaces. Both are
// handled after all tests, because a client may keep its connections longer than its test takes,
// and some clients do not wait for the exit of their server.
const exits = []
const roots = []

// shared is for cleanUp: its functions run after the last test of the file.
export const shared = { after: (run) => { shared.end = run } }

after(async () => {
  await shared.end?.()
  const seen = await Promise.all(exits)
  for (const root of roots) rmSync(root, { recursive: true, force: true, maxRetries: 10 })
  for (const end of seen) assert.deepEqual(end, { code: 0, stderr: '' })
})

// workspace creates a folder with files.
export function workspace(files = {}) {
  const root = mkdtempSync(join(tmpdir(), 'remit-ts-'))
  roots.push(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

// stdio returns the settings with which a client starts Remit.
export function stdio(root, ...args) {
  return { command: bin, args: ['stdio', '--root', root, ...args], env, cwd: tmpdir() }
}

const startupLines = /^Remit \S+ serves (http:\S+) .*\n(?:Console: .*\n)?/

// unexpectedLog returns the part of stderr that a test does not expect.
export function unexpectedLog(stderr) {
  return stderr.replace(startupLines, '')
}

// serve starts Remit until the test ends, and returns its URL. It must exit with code 0 and without
// unexpected log entries.
export async function serve(t, root, ...args) {
  const server = spawn(bin, ['serve', '--addr', '127.0.0.1:0', '--log-level', 'warn', '--root', root, ...args],
    { env, cwd: tmpdir(), stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(server, 'exit')
  let stderr = ''
  const url = await new Promise((resolve, reject) => {
    server.stderr.on('data', (text) => {
      stderr += text
      const found = startupLines.exec(stderr)
      if (found) resolve(found[1])
    })
    server.on('exit', () => reject(new Error(`the server did not start: ${stderr}`)))
  })
  cleanUp(t, () => {
    server.kill('SIGTERM')
    exits.push(exit.then(([code]) => ({ code, stderr: unexpectedLog(stderr) })))
  })
  return url
}

// entries returns the entries of the decision log.
export function entries(root) {
  const file = join(root, '.claude/memory/decisions.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)) : []
}

export const decision = {
  file: 'decisions.jsonl',
  entry: { timestamp: '2026-01-09T10:30:00Z', type: 'stack', decision: 'SQLite for tasks' },
}

// withEntry are the files of a workspace with one entry in the decision log.
export const withEntry = { '.claude/memory/decisions.jsonl': `${JSON.stringify(decision.entry)}\n` }

// bodyOf decodes the answer of a call, and checks the rules that every answer must follow.
export function bodyOf(result) {
  assert.equal(result.content.length, 1)
  assert.equal(result.content[0].type, 'text')
  const body = JSON.parse(result.content[0].text)
  if (result.isError) {
    assert.equal(result.structuredContent, undefined, 'an error has structured content')
  } else {
    // A bare list is the whole text. Structured content must be an object, with the list as its
    // only field.
    const structure = Array.isArray(body) ? Object.values(result.structuredContent) : result.structuredContent
    assert.deepEqual(structure, Array.isArray(body) ? [body] : body, 'text and structuredContent differ')
  }
  return body
}

// greetingOf returns the startupLines of hello. The field has another name in each edition.
export const greetingOf = (body) => body.greeting ?? body.message
