// The screens of the console, each with its main journey: the test that does there what the screen is for. A journey fails
// when it was not at a screen whose main one it is; screens.test.mjs compares the list with the console's sources; and
// walk.test.mjs goes to all of them. A new screen gets its line here, and an address in walk.test.mjs where it has an id.
const waits = 'what waits for a person or a worker stands on the first screen, and why'
const needs = 'memory, files, reports and signers are set'
const secrets = 'secrets, an SSH key and exclusions come and go'
const models = 'models and budgets, your own tools, trackers: each page is there'
const agents = 'agents, skills, prompts, due dates and the chain of the audit log'
const cves = 'a CVE is found by words and flags, and says what the team has of it'
const project = 'a project and a schedule are made; the schedule is paused, resumed and run'
const enumeration = 'an enumeration is started, and its assets are a table, a gallery and a graph'

export const screens = {
  '/login': 'signing in leads to where one wanted to go, and a wrong password says so',
  '/': waits,
  '/tasks': waits,
  '/tasks/new': 'a session that ends in the middle of work takes no draft with it',
  '/tasks/$id': 'the server is killed and comes back while a task streams: no event is lost, none doubled',
  '/scans': 'the report of another tool is taken in, and nothing of it is dropped in silence',
  '/scans/new': 'a scan is set up, runs, and says what was tested',
  '/scans/$id': 'the map of a scan is read by keyboard, and two of its runs are compared',
  '/findings': 'by keyboard alone: a task, its finding, a decision, back, a retest',
  '/findings/$id': 'a risk is accepted with a reason and an end, which the history shows and takes back',
  '/triage': 'a rule is made, tried on what is there and applied; a suggestion waits for a person',
  '/triage/$id': 'a view is saved and worked off by keyboard',
  '/inbox': 'findings are given to a member, who is told; a comment names them; a bulk change is undone',
  '/assets': 'assets are filtered by a condition, labelled, made a group, and are a file',
  '/assets/policies': 'a policy labels what matches, says when it acted, and is deleted',
  '/assets/associated': 'domains of the same owner are found, with what says so, and lead to an enumeration',
  '/assets/$id': enumeration,
  '/enumerations': enumeration,
  '/enumerations/$id': 'what came between two days is told, and the address keeps the days',
  '/templates': 'a model writes a template, which says who wrote it; an early one is found, read and copied',
  '/templates/$id': 'a template is written: the editor completes, the engine judges, it is tried on a response and a target, shared, deleted',
  '/cves': cves,
  '/cves/$id': cves,
  '/knowledge': 'notes and files are added, found with their place, read again and deleted',
  '/network': 'what a task sent is filtered and read by keyboard; the address keeps what is open',
  '/network/$id': 'a request is sent again with a change: what is masked arrives as it was, and the answers stand side by side',
  '/reports': 'what was open over time, how long fixes take, and a file of it',
  '/agents': waits,
  '/reference': 'an operation of the API is found, with a request to this server; the page of all leads back',
  '/settings/account': 'an app is the second factor: it is added, asked for, and removed',
  '/settings/keys': 'an API key is made, shown once, and deleted',
  '/settings/memory': needs,
  '/settings/files': needs,
  '/settings/members': 'default members are added and removed, and are back by undo',
  '/settings/models': models,
  '/settings/scope': secrets,
  '/settings/credits': 'credits are granted and stand there; the statement of a month is a file',
  '/settings/due': agents,
  '/settings/results': needs,
  '/settings/signers': needs,
  '/settings/leaks': 'leaked logins are filtered, looked at, marked as fixed, and are a file',
  '/settings/audit': agents,
  '/settings/projects': project,
  '/settings/schedules': project,
  '/settings/secrets': secrets,
  '/settings/ssh': secrets,
  '/settings/agents': agents,
  '/settings/skills': agents,
  '/settings/prompts': agents,
  '/settings/tools': 'an MCP server is authorized by OAuth, and revoked; another is a program',
  '/settings/notifications': 'an alert is set up, and tried before it is kept',
  '/settings/trackers': models,
  '/settings/github': 'repositories at GitHub are connected, set up, reviewed and disconnected',
  '/settings/gitlab': 'projects at GitLab are connected by a token, set up, reviewed and disconnected',
  '/settings/slack': 'a workspace of Slack is connected, disconnected, claimed; a team has an app of its own',
  '/settings/webhooks': secrets,
}

/** The screens whose main journey has that name. */
export const mainOf = (name) => Object.keys(screens).filter((screen) => screens[screen] === name)

/** Whether a path is one of a screen's. A screen with an id does not have the paths that are screens of their own. */
export function matches(screen, path) {
  if (!screen.includes('$') || screens[path]) return screen === path
  return new RegExp(`^${screen.replace(/\$\w+/g, '[^/]+')}$`).test(path)
}
