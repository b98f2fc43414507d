package llm

import "strings"

// Known is a model that the agent API names (enum llm_model).
type Known struct {
	ID   string
	Name string // for people
	// Window is the tokens of a conversation at Price: some models take more at a higher price.
	Window    int
	MaxOutput int // of an answer
	Price     Price
	Effort    string              // of reasoning, if the provider wants it
	Names     map[Provider]string // at its providers
}

// usd is a price from cents for a million tokens.
func usd(input, output, cacheRead, cacheWrite int64) Price {
	const cent = 10_000
	return Price{Input: input * cent, Output: output * cent, CacheRead: cacheRead * cent, CacheWrite: cacheWrite * cent}
}

// Catalogue are the models known by name, with list prices of mid 2026. Without a price of its own, writing to the
// cache costs what input costs.
func Catalogue() []Known {
	const (
		k       = 1000
		router  = ProviderOpenRouter
		gateway = ProviderVercel
	)
	claude := func(id, name, wire string, window, output int, price Price) Known {
		dotted := "anthropic/claude-" + id
		names := map[Provider]string{ProviderAnthropic: wire, router: dotted, gateway: dotted}
		return Known{ID: id, Name: name, Window: window, MaxOutput: output, Price: price, Names: names}
	}
	gpt := func(id, name, wire, effort string, price Price) Known {
		names := map[Provider]string{ProviderOpenAI: wire, router: "openai/" + wire, gateway: "openai/" + wire}
		return Known{ID: id, Name: name, Window: 272 * k, MaxOutput: 128 * k, Price: price, Effort: effort, Names: names}
	}
	other := func(id, name string, maker Provider, wire, routed, gated string, window, output int, price Price) Known {
		names := map[Provider]string{router: routed, gateway: gated}
		if maker != "" {
			names[maker] = wire
		}
		return Known{ID: id, Name: name, Window: window, MaxOutput: output, Price: price, Names: names}
	}
	return []Known{
		claude("opus-4.7", "Claude Opus 4.7", "claude-opus-4-7", 1000*k, 128*k, usd(500, 2500, 50, 625)),
		claude("opus-4.6", "Claude Opus 4.6", "claude-opus-4-6", 1000*k, 128*k, usd(500, 2500, 50, 625)),
		claude("sonnet-4.6", "Claude Sonnet 4.6", "claude-sonnet-4-6", 200*k, 64*k, usd(300, 1500, 30, 375)),
		claude("haiku-4.5", "Claude Haiku 4.5", "claude-haiku-4-5", 200*k, 64*k, usd(100, 500, 10, 125)),
		gpt("gpt-5.5-high", "GPT-5.5, high effort", "gpt-5.5", "high", usd(500, 3000, 50, 500)),
		gpt("gpt-5.4-xhigh", "GPT-5.4, very high effort", "gpt-5.4", "xhigh", usd(250, 1500, 25, 250)),
		gpt("gpt-5.4-high", "GPT-5.4, high effort", "gpt-5.4", "high", usd(250, 1500, 25, 250)),
		gpt("gpt-5.3-codex-high", "GPT-5.3 Codex, high effort", "gpt-5.3-codex", "high", usd(175, 1400, 18, 175)),
		other("gemini-3-pro", "Gemini 3 Pro", ProviderGoogle, "gemini-3-pro-preview",
			"google/gemini-3-pro-preview", "google/gemini-3-pro-preview", 200*k, 64*k, usd(200, 1200, 20, 200)),
		other("gemini-3-flash", "Gemini 3 Flash", ProviderGoogle, "gemini-3-flash-preview",
			"google/gemini-3-flash-preview", "google/gemini-3-flash", 1000*k, 64*k, usd(50, 300, 5, 50)),
		other("grok-4.1-fast", "Grok 4.1 Fast", ProviderXAI, "grok-4-1-fast-reasoning",
			"x-ai/grok-4.1-fast", "xai/grok-4.1-fast-reasoning", 128*k, 30*k, usd(20, 50, 5, 20)),
		other("grok-4-fast", "Grok 4 Fast", ProviderXAI, "grok-4-fast-reasoning",
			"x-ai/grok-4-fast", "xai/grok-4-fast-reasoning", 128*k, 30*k, usd(20, 50, 5, 20)),
		other("grok-code", "Grok Code Fast", ProviderXAI, "grok-code-fast-1",
			"x-ai/grok-code-fast-1", "xai/grok-code-fast-1", 256*k, 10*k, usd(20, 150, 2, 20)),
		other("kimi-k2.6", "Kimi K2.6", "", "",
			"moonshotai/kimi-k2.6", "moonshotai/kimi-k2.6", 256*k, 64*k, usd(95, 400, 16, 95)),
		other("glm-5", "GLM-5", "", "",
			"z-ai/glm-5", "zai/glm-5", 200*k, 128*k, usd(100, 320, 20, 100)),
	}
}

// Lookup finds a model by its ID or by its provider's name for it.
func Lookup(p Provider, name string) (Known, bool) {
	for _, k := range Catalogue() {
		if wire, served := k.Names[p]; served && (k.ID == name || strings.EqualFold(wire, name)) {
			return k, true
		}
	}
	return Known{}, false
}

// wireName is the provider's name of a model, and its reasoning effort. An unknown name is unchanged.
func wireName(p Provider, name string) (wire, effort string) {
	for _, k := range Catalogue() {
		if wire := k.Names[p]; wire != "" && k.ID == name {
			return wire, k.Effort
		}
	}
	return name, ""
}
