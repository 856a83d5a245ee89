#define _GNU_SOURCE
#include "python_api.h"

#include <dlfcn.h>
#include <stddef.h>

struct python_api py;

bool py_find(void)
{
    PYTHON_FIND(py.new_function, "PyCFunction_NewEx")
    PYTHON_FIND(py.new_dict, "PyDict_New")
    PYTHON_FIND(py.set_item, "PyDict_SetItemString")
    PYTHON_FIND(py.compile, "Py_CompileString")
    PYTHON_FIND(py.evaluate, "PyEval_EvalCode")
    PYTHON_FIND(py.builtins, "PyEval_GetBuiltins")
    PYTHON_FIND(py.from_long, "PyLong_FromLongLong")
    PYTHON_FIND(py.to_number, "PyLong_AsUnsignedLongLong")
    PYTHON_FIND(py.to_long, "PyLong_AsLongLong")
    PYTHON_FIND(py.new_text, "PyUnicode_FromString")
    PYTHON_FIND(py.text, "PyUnicode_AsUTF8AndSize")
    PYTHON_FIND(py.retain, "Py_IncRef")
    PYTHON_FIND(py.release, "Py_DecRef")
    PYTHON_FIND(py.clear_error, "PyErr_Clear")
    PYTHON_FIND(py.call, "PyObject_CallObject")
    PYTHON_FIND(py.call_soon, "Py_AddPendingCall")
    PYTHON_FIND(py.none, "_Py_NoneStruct")
    return true;
}

void *py_none(void)
{
    py.retain(py.none);
    return py.none;
}

uint64_t py_number(void *object)
{
    unsigned long long value = py.to_number(object);
    if (__builtin_expect(value != (unsigned long long)-1, 1))
        return value;
    py.clear_error();
    return 0;
}
