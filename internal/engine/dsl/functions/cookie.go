package functions

import "github.com/vedette-sec/vedette/internal/infra/weakkey"

// cookieUnsign finds the weak key of a cookie signed by Django, Flask, Rack or Express (cookie-session,
// "data^signature"), or of a JWT.
func cookieUnsign(env *Env, args []any) (any, error) {
	key, _, err := weakkey.Of(env.context(), String(args[0]))
	if err != nil {
		return nil, err
	}
	return key, nil
}
