#define _GNU_SOURCE
#include "steps_python.h"

#include <dlfcn.h>
#include <stddef.h>

struct steps_python py;

bool steps_find_python(void)
{
    STEPS_FIND(py.new_function, "PyCFunction_NewEx")
    STEPS_FIND(py.new_dict, "PyDict_New")
    STEPS_FIND(py.set_item, "PyDict_SetItemString")
    STEPS_FIND(py.compile, "Py_CompileString")
    STEPS_FIND(py.evaluate, "PyEval_EvalCode")
    STEPS_FIND(py.builtins, "PyEval_GetBuiltins")
    STEPS_FIND(py.from_long, "PyLong_FromLongLong")
    STEPS_FIND(py.to_number, "PyLong_AsUnsignedLongLong")
    STEPS_FIND(py.to_long, "PyLong_AsLongLong")
    STEPS_FIND(py.new_text, "PyUnicode_FromString")
    STEPS_FIND(py.text, "PyUnicode_AsUTF8AndSize")
    STEPS_FIND(py.retain, "Py_IncRef")
    STEPS_FIND(py.release, "Py_DecRef")
    STEPS_FIND(py.clear_error, "PyErr_Clear")
    STEPS_FIND(py.call, "PyObject_CallObject")
    STEPS_FIND(py.call_soon, "Py_AddPendingCall")
    STEPS_FIND(py.none, "_Py_NoneStruct")
    return true;
}

void *steps_none(void)
{
    py.retain(py.none);
    return py.none;
}
