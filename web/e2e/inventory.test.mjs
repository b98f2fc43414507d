import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { both, browse, journeys, ready, serve, signIn, weakSite } from './kit.mjs'

// The inventory: groups, labels, policies, differences, associated domains; and screens that a phone or a guest sees.

let server, browser, site, target, enumeration

before(async () => {
  [server, browser] = await Promise.all([serve(), browse()]);
  ({ site, target } = await weakSite())
  enumeration = (await server.api('POST', '/v1/asset/enumerate', { name: 'The shop', enrichment_inputs: [`${target}/`] })).id
  for (;;) {
    const state = (await server.api('GET', `/v1/asset/enumerate/${enumeration}`)).data.status
    if (state === 'finished') break
    assert.ok(!['failed', 'stopped'].includes(state), state)
    await new Promise((done) => setTimeout(done, 150))
  }
})
after(async () => { await browser?.close(); site?.close(); await server?.close() })

const journey = journeys(() => ({ browser, server }))
const dialog = (page) => page.getByRole('dialog')

journey('assets are filtered by a condition, labelled, made a group, and are a file', async (page) => {
  await page.at('/assets')
  await signIn(page)
  await page.getByLabel('Condition').fill('port > 70000')
  await page.getByText('No assets match').waitFor()
  await page.getByLabel('Condition').fill('port >')
  await page.getByRole('alert').waitFor() // the server says what is wrong with it
  await page.getByLabel('Condition').fill('status_code = 200')
  await page.getByRole('row').nth(1).waitFor()
  await page.getByRole('button', { name: 'Label what is shown' }).click()
  await page.keyboard.type('shop, <b>bold</b>')
  await dialog(page).getByRole('button', { name: /^Change 1 asset/ }).click()
  await page.getByText('1 asset is changed.').waitFor()
  await page.getByRole('row', { name: /<b>bold<\/b>/ }).waitFor() // text stays text
  await page.getByRole('button', { name: 'Save as a group' }).click()
  await page.keyboard.type('Pages that answer')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.waitForURL(/\/enumerations\/[0-9a-f-]{36}$/)
  await page.getByRole('heading', { name: 'Pages that answer', level: 1 }).waitFor()
  await page.getByRole('table').getByRole('link').first().waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV file' }).click()])
  assert.match(file.suggestedFilename(), /\.csv$/)
  await both(page, 'a group')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Its assets stay.').waitFor()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(/\/enumerations$/)
  assert.ok((await server.api('GET', '/v1/asset/enumerate/contents')).total_results > 0)
  await page.at('/assets?label=shop')
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByRole('button', { name: 'Remove the label shop' }).click()
  await page.getByRole('button', { name: 'Remove the label shop' }).waitFor({ state: 'detached' })
  await page.getByLabel('Add a label').fill('till')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove the label till' }).waitFor()
  await both(page, 'labels')
  assert.deepEqual((await server.api('GET', '/v1/asset/enumerate/contents?labels=till')).data[0].labels.sort(), ['<b>bold</b>', 'till'])
})

journey('a policy labels what matches, says when it acted, and is deleted', async (page) => {
  await page.at('/assets')
  await signIn(page)
  await page.getByRole('link', { name: 'Policies' }).click()
  await page.getByText('No policies', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New policy' }).click()
  await page.getByLabel('Name').fill('Web pages')
  await page.getByLabel('These labels').fill('web')
  await page.getByLabel('Meets the condition').fill('status_code ==== 200')
  await dialog(page).getByLabel('Do it now').check()
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await page.getByLabel('Meets the condition').fill('status_code = 200')
  await both(page, 'a policy')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: /Web pages/ })
  await row.getByText('custom_filter = status_code = 200').waitFor()
  for (;;) { // it acts in the background
    if ((await server.api('GET', '/v1/asset/enumerate/contents?labels=web')).total_results === 1) break
    await new Promise((done) => setTimeout(done, 150))
  }
  await row.getByRole('button', { name: 'Log' }).click()
  await dialog(page).getByText('Done', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await ready(page)
  await both(page, 'policies')
  await row.getByRole('button', { name: 'Delete' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No policies', { exact: true }).waitFor()
})

journey('what came between two days is told, and the address keeps the days', async (page) => {
  await page.at(`/enumerations/${enumeration}`)
  await signIn(page)
  await page.getByRole('link', { name: 'Difference' }).click()
  await page.getByText(/^Assets: \d+ more, 0 fewer/).waitFor()
  await page.getByRole('row', { name: /\+ added Assets 127\.0\.0\.1/ }).first().waitFor()
  await both(page, 'difference')
  await page.getByLabel('From').fill('2020-01-01')
  await page.getByLabel('To').fill('2020-01-02')
  await page.getByText('Nothing differs').waitFor()
  await page.reload()
  assert.equal(await page.getByLabel('To').inputValue(), '2020-01-02')
  await page.getByText('Nothing differs').waitFor()
  await page.goBack()
  await page.getByText(/^Assets: \d+ more/).waitFor()
})
