package platform

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestErrorHasTheFullShapeAndNoCause(t *testing.T) {
	e := errs.Field("limit", "limit must be small.").Because(errors.New("the cause"))
	got, err := json.Marshal(shape(400, e, "id-1"))
	want := `{"message":"limit must be small.","kind":"invalid","code":"invalid_limit","error":"limit must be small.","error_id":"id-1","param":"limit","status":400}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
