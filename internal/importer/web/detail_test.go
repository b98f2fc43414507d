package web

import "testing"

// One number or name of a check stands for several things; the detail tells which.
func TestDetails(t *testing.T) {
	for message, want := range map[string]string{
		"Uncommon header 'X-Cache' found, with contents: HIT":            "x-cache",
		"Cookie PHPSESSID created without the httponly flag":             "phpsessid",
		"Retrieved x-powered-by header: PHP/5.4.":                        "x-powered-by",
		"Suggested security header missing: referrer-policy.":            "referrer-policy",
		"The anti-clickjacking X-Frame-Options header is not present.":   "",
		"/robots.txt contains 2 entries which should be manually viewed": "",
	} {
		if got := niktoDetail(message); got != want {
			t.Errorf("nikto, %q: %q, want %q", message, got, want)
		}
	}
	for info, want := range map[string]string{
		"X-Frame-Options is not set": "x-frame-options", "CSP is not set": "csp",
		"HttpOnly flag is not set in the cookie : session": "session",
		"CSP \"script-src\" value is not safe":             "", "The page is not set": "",
	} {
		if got := wapitiDetail(info); got != want {
			t.Errorf("wapiti, %q: %q, want %q", info, got, want)
		}
	}
}
