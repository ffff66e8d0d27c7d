import numpy as np, onnx, sys
from onnx import helper as h, TensorProto as T, numpy_helper as nh
rng=np.random.default_rng(0); nodes=[]; inits=[]; k=[0]
def w(shape,scale=None):
    n=f"w{k[0]}"; k[0]+=1
    a=rng.standard_normal(shape).astype(np.float32)*(scale if scale is not None else (2/np.prod(shape[1:]))**.5)
    inits.append(nh.from_array(a,n)); return n
def v(c,lo,hi):
    n=f"v{k[0]}"; k[0]+=1; inits.append(nh.from_array(rng.uniform(lo,hi,c).astype(np.float32),n)); return n
def node(op,ins,**kw):
    o=f"t{k[0]}"; k[0]+=1; nodes.append(h.make_node(op,ins,[o],**kw)); return o
def cb(x,ci,co,ks,s,act=True):
    p=ks//2
    x=node("Conv",[x,w((co,ci,ks,ks))],kernel_shape=[ks,ks],strides=[s,s],pads=[p]*4)
    x=node("BatchNormalization",[x,v(co,.5,1),v(co,-.1,.1),v(co,-.1,.1),v(co,.8,1.2)])
    return node("Relu",[x]) if act else x
x=cb("x",3,64,7,2); x=node("MaxPool",[x],kernel_shape=[3,3],strides=[2,2],pads=[1]*4); c=64
for n,m,s in ((3,64,1),(4,128,2),(6,256,2),(3,512,2)):
    for i in range(n):
        st=s if i==0 else 1
        y=cb(x,c,m,1,1); y=cb(y,m,m,3,st); y=cb(y,m,4*m,1,1,False)
        sc=cb(x,c,4*m,1,st,False) if i==0 else x
        x=node("Relu",[node("Add",[y,sc])]); c=4*m
x=node("GlobalAveragePool",[x]); x=node("Flatten",[x])
nodes.append(h.make_node("Gemm",[x,w((1000,2048)),v(1000,-.1,.1)],["y"],transB=1))
g=h.make_graph(nodes,"resnet50",[h.make_tensor_value_info("x",T.FLOAT,["n",3,224,224])],[h.make_tensor_value_info("y",T.FLOAT,["n",1000])],inits)
m=h.make_model(g,opset_imports=[h.make_opsetid("",18)],ir_version=9); onnx.checker.check_model(m); onnx.save(m,sys.argv[1])
