package projects

import (
	"reflect"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/project"
)

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[Request]():        "ProjectRequest",
			reflect.TypeFor[Patch]():          "ProjectPatch",
			reflect.TypeFor[CapRequest]():     "ProjectCapRequest",
			reflect.TypeFor[MemberRequest]():  "ProjectMemberRequest",
			reflect.TypeFor[MemoryRequest]():  "ProjectMemoryRequest",
			reflect.TypeFor[Doc]():            "Project",
			reflect.TypeFor[Answer]():         "ProjectAnswer",
			reflect.TypeFor[List]():           "ProjectList",
			reflect.TypeFor[Members]():        "ProjectMemberList",
			reflect.TypeFor[Issues]():         "ProjectIssueList",
			reflect.TypeFor[project.Person](): "ProjectMember",
			reflect.TypeFor[project.Memory](): "ProjectMemory",
			reflect.TypeFor[project.Count]():  "LabelCount",
		},
		Words: rest.ParseWords(words),
	}
}

const words = `Project.type: As when it was created.`
