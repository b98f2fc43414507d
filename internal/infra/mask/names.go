package mask

import "strings"

// partsOfNames make a name one of a secret, by the letter they begin with. Names are compared in lower case with every
// "-", "_" and "." left out.
var partsOfNames = [256][]string{
	'p': {"passw", "passphrase", "passcode", "privatekey", "phpsessid"},
	's': {"secret", "session", "sessid", "samlresponse", "sharedaccess", "signature"},
	't': {"token"},
	'a': {"apikey", "accesskey", "authkey", "accountkey", "appkey", "authorization", "authtoken"},
	'c': {"csrf", "credential", "clientassertion", "connectsid"},
	'x': {"xsrf"},
	'k': {"keysecret"},
	'e': {"encryptionkey"},
	'j': {"jwt"},
	'm': {"masterkey"},
	'l': {"licensekey"},
	'b': {"bearer"},
}

// beginsOfParts are the first two bytes of each.
var beginsOfParts = func() *pairs {
	p := new(pairs)
	for _, all := range partsOfNames {
		for _, part := range all {
			p.add(part[0], part[1])
		}
	}
	return p
}()

// wholeNames are names of secrets as a whole.
var wholeNames = map[string]bool{
	"pwd":      true,
	"pass":     true,
	"sid":      true,
	"auth":     true,
	"otp":      true,
	"pin":      true,
	"sig":      true,
	"passwd":   true,
	"dbpass":   true,
	"dbpwd":    true,
	"mysqlpwd": true,
	"userpass": true,
	"pgpass":   true,
}

const longestWhole = 8

// descriptions are ends of names that describe a secret and are none: token_type, password_min_length.
var descriptions = []string{
	"endpoint",
	"url",
	"uri",
	"type",
	"length",
	"expires",
	"expiresin",
	"expiry",
	"policy",
	"name",
	"field",
	"header",
	"param",
	"hint",
	"label",
	"placeholder",
	"enabled",
	"required",
	"changed",
	"count",
}

const longestName = 64

// secretName reports whether what has this name is a secret.
func secretName(name string) bool {
	if len(name) < 3 || len(name) > longestName {
		return false
	}
	var buffer [longestName]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '-' || c == '_' || c == '.' || c == '[' || c == ']' || c == '%':
			continue
		}
		buffer[n] = c
		n++
	}
	plain := buffer[:n]
	for i := range max(0, n-1) {
		if !beginsOfParts.has(plain[i], plain[i+1]) {
			continue
		}
		for _, part := range partsOfNames[plain[i]] {
			if len(plain)-i >= len(part) && string(plain[i:i+len(part)]) == part {
				return !describes(plain)
			}
		}
	}
	return n <= longestWhole && wholeNames[string(plain)]
}

func describes(plain []byte) bool {
	for _, end := range descriptions {
		if strings.HasSuffix(string(plain), end) {
			return true
		}
	}
	return false
}
