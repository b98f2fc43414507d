import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { screens } from './screens.mjs'

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8')

test('each screen of the console has a main journey', () => {
  const paths = [...read('../src/router.tsx').matchAll(/path: '([^']+)'/g)].map((m) => m[1]).filter((p) => p !== '/settings/$page')
  const settings = [...read('../src/screens/settings/index.tsx').matchAll(/^ {2}(\w+): \{ group:/gm)].map((m) => `/settings/${m[1]}`)
  assert.ok(paths.length > 20 && settings.length > 20, `${paths.length} screens and ${settings.length} settings are found`)
  assert.deepEqual(Object.keys(screens).sort(), [...paths, ...settings].sort())
  const tests = readdirSync(new URL('.', import.meta.url)).filter((f) => f.endsWith('.test.mjs')).map((f) => read(f)).join('\n')
  for (const [screen, name] of Object.entries(screens)) assert.ok(tests.includes(`journey('${name}', `), `${screen}: there is no journey “${name}”`)
})
