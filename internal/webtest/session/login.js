// One step of a login: fills in what the page asks for, and says what it did. What it clicks, it clicks when it has
// answered, as the page may go then.
() => {
	const given = GIVEN
	const shown = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0 && !e.disabled && getComputedStyle(e).visibility !== "hidden" }
	const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(shown)
	const label = e => [e.innerText, e.type === "submit" ? e.value : "", e.getAttribute("aria-label"), e.title].filter(Boolean).join(" ").trim()
	const named = e => [e.name, e.id, e.autocomplete, e.placeholder, e.type].join(" ")
	const set = (e, text) => {
		e.focus()
		Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(e, text)
		for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, { bubbles: true }))
	}
	const click = e => setTimeout(() => e.click(), 20)
	const buttons = "button, input[type=submit], input[type=image], [role=button]"
	const away = /cancel|deny|decline|back|forgot|reset|regist|sign.?up|create|abbrechen|ablehnen/i
	const submit = field => {
		const near = all(buttons, field.form || document).filter(b => b.type !== "reset" && !away.test(label(b)))
		const button = near.find(b => b.type === "submit" || b.type === "image") || near[0]
		if (button) click(button)
		else if (field.form) setTimeout(() => field.form.requestSubmit(), 20)
	}
	const fields = all("input")
	const texts = fields.filter(e => ["text", "email", "tel", "number"].includes(e.type))
	const password = fields.find(e => e.type === "password")
	const user = texts.find(e => /user|mail|login|ident|account|name|email/i.test(named(e))) || (password && texts[0])
	if (password) {
		if (user && user.value !== given.user) set(user, given.user)
		set(password, given.password)
		submit(password)
		return "password"
	}
	const code = texts.find(e => /otp|totp|mfa|2fa|one.?time|verif|passcode|\bcode\b/i.test(named(e)))
	if (given.code && code) {
		set(code, given.code)
		submit(code)
		return "code"
	}
	const own = location.host === given.host
	if (!given.entered && user && !own) {
		set(user, given.user)
		submit(user)
		return "user"
	}
	if (!own && given.entered) {
		const agree = all(buttons).find(b => /allow|accept|authori[sz]e|approve|agree|continue|confirm|consent|^yes|zulassen|zustimmen|weiter/i.test(label(b)) && !away.test(label(b)))
		if (agree) {
			click(agree)
			return "consent"
		}
	}
	if (own && !given.entered) {
		const link = all("a[href], " + buttons).find(e => /log.?in|sign.?in|log.?on|sso|anmelden|continue with/i.test(label(e) + " " + (e.getAttribute("href") || "")) && !away.test(label(e)))
		if (link) {
			click(link)
			return "link"
		}
	}
	return ""
}
