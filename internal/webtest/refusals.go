package webtest

import "fmt"

// manyAsked are so many answers that ask to come later that the report tells of them.
const manyAsked = 5

// refusals notes that the target has refused the tester, as a whole or for a time.
func (r *run) refusals() {
	blocked, asked := r.client.Refusals()
	if asked >= manyAsked {
		r.note(fmt.Sprintf("The target said %d times that it is asked too often, and was asked again when it allowed that: "+
			"a lower rate, or an exception for the tester's address, makes the test whole.", asked))
	}
	if !blocked {
		return
	}
	r.report.Blocked, r.report.Down = true, true
	r.note("The target answered, and from some request on refused everything, also pages that it had shown before: it " +
		"seems to have blocked the tester. Allow the tester's address there, or set a lower rate, and test again.")
}
