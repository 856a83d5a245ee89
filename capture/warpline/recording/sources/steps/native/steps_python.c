#define _GNU_SOURCE
#include "steps_python.h"

#include <dlfcn.h>
#include <stddef.h>

struct steps_python py;

bool steps_find_python(void)
{
#define FIND(field, name) \
    *(void **)&py.field = dlsym(RTLD_DEFAULT, name); \
    if (py.field == NULL) \
        return false;
    FIND(new_function, "PyCFunction_NewEx")
    FIND(new_dict, "PyDict_New")
    FIND(set_item, "PyDict_SetItemString")
    FIND(compile, "Py_CompileString")
    FIND(evaluate, "PyEval_EvalCode")
    FIND(builtins, "PyEval_GetBuiltins")
    FIND(from_long, "PyLong_FromLongLong")
    FIND(to_number, "PyLong_AsUnsignedLongLong")
    FIND(to_long, "PyLong_AsLongLong")
    FIND(new_text, "PyUnicode_FromString")
    FIND(text, "PyUnicode_AsUTF8AndSize")
    FIND(retain, "Py_IncRef")
    FIND(release, "Py_DecRef")
    FIND(clear_error, "PyErr_Clear")
    FIND(call, "PyObject_CallObject")
    FIND(call_soon, "Py_AddPendingCall")
    FIND(none, "_Py_NoneStruct")
#undef FIND
    return true;
}

void *steps_none(void)
{
    py.retain(py.none);
    return py.none;
}
