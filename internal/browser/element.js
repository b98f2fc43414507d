{
	find(by, css, regex, xpath, query) {
		const byXPath = path => document.evaluate(path, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue
		switch (by) {
		case "regex": {
			const parts = /^\/(.+)\/([a-z]*)$/s.exec(regex), wanted = parts ? new RegExp(parts[1], parts[2]) : new RegExp(regex)
			return Array.from(document.querySelectorAll(css)).find(e => wanted.test(this.shown(e))) || null
		}
		case "xpath":
			return byXPath(xpath)
		case "search":
			for (const look of [q => document.querySelector(q), byXPath]) {
				try {
					const found = look(query)
					if (found) return found
				} catch {}
			}
			return Array.from(document.querySelectorAll("*")).findLast(e => (e.textContent || "").includes(query)) || null
		}
		return document.querySelector(css)
	},
	shown(e) {
		switch (e.tagName) {
		case "INPUT":
		case "TEXTAREA":
			return e.value || e.placeholder || ""
		case "SELECT":
			return Array.from(e.selectedOptions).map(o => o.innerText).join()
		}
		return e.innerText === undefined ? e.textContent || "" : e.innerText
	},
	text(e, size) { return this.shown(e).slice(0, size) },
	attribute(e, name, size) {
		const value = e.getAttribute(name)
		return value === null ? null : value.slice(0, size)
	},
	visible(e) {
		const box = e.getBoundingClientRect(), style = getComputedStyle(e)
		return style.display !== "none" && style.visibility !== "hidden" && box.width > 0 && box.height > 0
	},
	middle(e) {
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
		const box = e.getClientRects()[0]
		return box && box.width && box.height ? [box.x + box.width / 2, box.y + box.height / 2] : []
	},
	focus(e) {
		e.scrollIntoView({block: "center", behavior: "instant"})
		e.focus()
	},
	changed(e) {
		e.dispatchEvent(new Event("input", {bubbles: true}))
		e.dispatchEvent(new Event("change", {bubbles: true}))
	},
	time(e, forms) {
		e.focus()
		e.value = forms[e.type] || forms["datetime-local"]
		this.changed(e)
	},
	select(e, value, how, selected) {
		const options = Array.from(e.options)
		let chosen
		switch (how) {
		case "css":
			chosen = options.filter(o => o.matches(value))
			break
		case "regex":
			chosen = options.filter(o => new RegExp(value).test(o.innerText))
			break
		default:
			chosen = options.filter(o => o.innerText.includes(value))
		}
		for (const o of chosen) o.selected = selected
		this.changed(e)
		return chosen.length > 0
	},
	source(e) { return e.currentSrc || e.src || e.href || "" },
}
