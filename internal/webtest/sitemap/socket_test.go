package sitemap

import (
	"net/url"
	"strings"
	"testing"
)

// page is where the scripts of these tests stand.
var socketPage = &url.URL{Scheme: "https", Host: "shop.example", Path: "/app/index.html"}

func TestMessagesToWebSockets(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"address and text as they are": {
			`const ws = new WebSocket("wss://shop.example/live"); ws.send("hello")`,
			"https://shop.example/live hello",
		},
		"host of the page": {
			`socket = new WebSocket((location.protocol === 'https:' ? 'wss://' : 'ws://') + location.host + '/ws/find');
			 socket.onopen = () => { socket.send(JSON.stringify({type: 'search', q: document.getElementById('q').value, page: 1})) }`,
			`https://shop.example/ws/find {"page":1,"q":"test","type":"search"}`,
		},
		"template, variable, nested object": {
			"const url = `ws://${window.location.host}/api/${room}/ws`;\nthis.conn = new WebSocket(url, ['v1']);\n" +
				`let m = {
				   op: "get",
				   filter: {ids: [1, 2], name: user.name, on: true},
				 };
				 this.conn.send(JSON.stringify(m));`,
			`https://shop.example/api/1/ws {"filter":{"ids":[1,2],"name":"test","on":true},"op":"get"}`,
		},
		"a text put together": {
			`var ws = new WebSocket(location.origin.replace(/^http/, 'ws') + '/echo'); ws.send('FIND ' + box.value)`,
			"https://shop.example/echo FIND test",
		},
		"localhost is the host of the page": {
			`new WebSocket("ws://localhost:9000/ws")`, "https://shop.example/ws ",
		},
		"another host stays":      {`new WebSocket("wss://live.example/ws")`, "https://live.example/ws "},
		"no message is shown":     {`x.ws = new WebSocket("/ws?id=7"); other.send("a")`, "https://shop.example/ws?id=7 "},
		"an escaped object":       {`ws = new WebSocket("/w"); ws.send("{\"id\":\"1\"}")`, `https://shop.example/w {"id":"1"}`},
		"bytes are no message":    {`ws = new WebSocket("/w"); ws.send(new Uint8Array(4))`, "https://shop.example/w "},
		"nothing known of it":     {`ws = new WebSocket(address())`, ""},
		"requests are no message": {`x = new XMLHttpRequest(); x.send("a=b")`, ""},
	} {
		var got []string
		for _, e := range socketMessages(&page{base: socketPage}, c.script) {
			got = append(got, e.Request.URL.String()+" "+string(e.Request.Body))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), c.want)
		}
	}
}

func TestTheFirstMessageOpensTheDialogue(t *testing.T) {
	all := socketMessages(&page{base: socketPage}, `ws = new WebSocket("/w");
		ws.onopen = () => ws.send(JSON.stringify({type: "auth", token: t}));
		function find() { ws.send(JSON.stringify({type: "find", q: q.value})) }`)
	if len(all) != 2 || all[0].Request.After != nil || all[1].Request.After != all[0].Request {
		t.Errorf("%d messages; the second must follow the first", len(all))
	}
}

func FuzzMessagesToWebSockets(f *testing.F) {
	f.Add(`ws = new WebSocket("/w"); ws.send(JSON.stringify({a: [1, {b: `)
	f.Add("ws = new WebSocket(`ws://${h}/w`); ws.send(JSON.stringify({a: [1, {b: 'c'}]}))")
	f.Fuzz(func(t *testing.T, script string) {
		for _, e := range socketMessages(&page{base: socketPage}, script) {
			if !e.Request.IsMessage() || e.Request.URL.Host == "" {
				t.Errorf("%s %s", e.Request.Method, e.Request.URL)
			}
		}
	})
}
