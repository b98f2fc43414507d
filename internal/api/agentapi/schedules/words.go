package schedules

import (
	"reflect"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task/change"
)

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[Request]():         "ScheduleRequest",
			reflect.TypeFor[Patch]():           "SchedulePatch",
			reflect.TypeFor[Doc]():             "Schedule",
			reflect.TypeFor[Answer]():          "ScheduleAnswer",
			reflect.TypeFor[List]():            "ScheduleList",
			reflect.TypeFor[Detail]():          "ScheduleDetail",
			reflect.TypeFor[Execution]():       "ScheduleExecution",
			reflect.TypeFor[ExecutionAnswer](): "ScheduleExecutionAnswer",
			reflect.TypeFor[Executions]():      "ScheduleExecutionList",
			reflect.TypeFor[Info]():            "TaskSchedule",
			reflect.TypeFor[change.Report]():   "TaskChanges",
			reflect.TypeFor[change.Item]():     "TaskChange",
		},
		Words: rest.ParseWords(words),
	}
}

const words = `Schedule.schedule_type, Schedule.file_count, Schedule.source_task_id, Schedule.direct_agent_id, Schedule.llm_model, Schedule.reporting_mode: As in the request.
Schedule.has_files: Whether it names files.
SchedulePatch.llm_model, SchedulePatch.selected_visibility_type, SchedulePatch.task_message, SchedulePatch.scan_frequency, SchedulePatch.reporting_mode, SchedulePatch.start_time, SchedulePatch.time_zone: As when it is created.`
