// Remit as its clients meet it: started by them and spoken to on stdin and stdout,
// or found running at an address.
//
// REMIT_BIN names the program. Contracts and examples come from it, too, so that a
// new tool is tested with nothing touched.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'

export const bin = process.env.REMIT_BIN
assert.ok(bin, 'REMIT_BIN must name the program')

export const env = { PATH: process.env.PATH, HOME: tmpdir(), GORACE: 'atexit_sleep_ms=0', REMIT_DEADLINE_FACTOR: '20' }
export const sets = ['booster', 'learning-os']

// remit runs one command line of the program and gives what it prints.
export function remit(...args) {
  return execFileSync(bin, args, { env, cwd: tmpdir(), encoding: 'utf8' })
}

// contracts gives the contracts of a toolset, as the program prints them.
const printed = new Map()
export function contracts(set) {
  if (!printed.has(set)) printed.set(set, JSON.parse(remit('tools', '--json', '--toolsets', set)))
  return printed.get(set)
}

// later runs something after the test, the last first: a client before its server.
// What fails does not keep the rest from running, or a server would stay for ever.
export function later(t, run) {
  if (!t.undo) {
    t.undo = []
    t.after(async () => {
      const failures = []
      for (const step of t.undo.reverse()) {
        try {
          await step()
        } catch (failure) {
          failures.push(failure)
        }
      }
      if (failures.length > 0) throw failures[0]
    })
  }
  t.undo.push(run)
}

// ends are how the servers ended, and roots the folders they worked in. A client may
// hold its connections a while longer than its test takes, and not every client waits
// for the end of its server, so both are looked at when all tests are through.
const ends = []
const roots = []

// shared stands for all tests of a file: what is undone later for it is undone after the last.
export const shared = { after: (undo) => { shared.end = undo } }

after(async () => {
  await shared.end?.()
  const seen = await Promise.all(ends)
  for (const root of roots) rmSync(root, { recursive: true, force: true, maxRetries: 10 })
  for (const end of seen) assert.deepEqual(end, { code: 0, stderr: '' })
})

// workspace makes a folder with files in it.
export function workspace(files = {}) {
  const root = mkdtempSync(join(tmpdir(), 'remit-ts-'))
  roots.push(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

// stdio is what a client needs to start Remit itself.
export function stdio(root, ...args) {
  return { command: bin, args: ['stdio', '--root', root, ...args], env, cwd: tmpdir() }
}

const greeting = /^Remit \S+ serves (http:\S+) .*\n(?:Console: .*\n)?/

// complaints gives what Remit says on stderr that it should not have to say.
export function complaints(stderr) {
  return stderr.replace(greeting, '')
}

// serve starts Remit for the length of a test and gives its address. It has to end
// in peace, with nothing to complain of.
export async function serve(t, root, ...args) {
  const server = spawn(bin, ['serve', '--addr', '127.0.0.1:0', '--log-level', 'warn', '--root', root, ...args],
    { env, cwd: tmpdir(), stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(server, 'exit')
  let stderr = ''
  const url = await new Promise((resolve, reject) => {
    server.stderr.on('data', (text) => {
      stderr += text
      const found = greeting.exec(stderr)
      if (found) resolve(found[1])
    })
    server.on('exit', () => reject(new Error(`it did not serve: ${stderr}`)))
  })
  later(t, () => {
    server.kill('SIGTERM')
    ends.push(exit.then(([code]) => ({ code, stderr: complaints(stderr) })))
  })
  return url
}

// lines gives the entries of the decision log.
export function lines(root) {
  const file = join(root, '.claude/memory/decisions.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)) : []
}

export const decision = {
  file: 'decisions.jsonl',
  entry: { timestamp: '2026-01-09T10:30:00Z', type: 'stack', decision: 'SQLite for tasks' },
}

// logged is a workspace with one entry in the log.
export const logged = { '.claude/memory/decisions.jsonl': `${JSON.stringify(decision.entry)}\n` }

// bodyOf reads the answer of a call, and checks what holds for every one of them.
export function bodyOf(result) {
  assert.equal(result.content.length, 1)
  assert.equal(result.content[0].type, 'text')
  const body = JSON.parse(result.content[0].text)
  if (result.isError) {
    assert.equal(result.structuredContent, undefined, 'an error has structured content')
  } else {
    // A bare list stands alone in the text, and alone in the object that structure has to be.
    const structure = Array.isArray(body) ? Object.values(result.structuredContent) : result.structuredContent
    assert.deepEqual(structure, Array.isArray(body) ? [body] : body, 'text and structuredContent differ')
  }
  return body
}

// greetingOf reads what hello answered; its two editions word it differently.
export const greetingOf = (body) => body.greeting ?? body.message
