# torch-free: safetensors + onnx.helper -> fp32 ONNX.  usage: build_onnx.py model.safetensors out.onnx [std|ms] [hidden|pooled]
import json, struct, sys, numpy as np, onnx
from onnx import helper as h, numpy_helper as nh, TensorProto as T
src,out,kind,pool=sys.argv[1:5]
raw=open(src,"rb").read(); n=struct.unpack("<Q",raw[:8])[0]; hdr=json.loads(raw[8:8+n]); base=8+n
W={k:np.frombuffer(raw[base+v["data_offsets"][0]:base+v["data_offsets"][1]],np.float32).reshape(v["shape"]) for k,v in hdr.items() if k!="__metadata__" and v["dtype"]=="F32"}
NH,D,NL,EPS=12,384,6,1e-12; DH=D//NH
nodes,init=[],[]
def c(name,a): init.append(nh.from_array(np.ascontiguousarray(a),name)); return name
def op(t,ins,o=None,domain="",**kw):
    o=o or f"t{len(nodes)}"; outs=[o] if isinstance(o,str) else o
    nodes.append(h.make_node(t,ins,outs,name=f"n{len(nodes)}_{t}",domain=domain,**kw)); return outs[0]
I=lambda name,*v: c(name,np.array(v,np.int64)); F=lambda name,v: c(name,np.array(v,np.float32))
def ln(x,p): return op("LayerNormalization",[x,c(p+".w",W[p+".weight"]),c(p+".b",W[p+".bias"])],axis=-1,epsilon=EPS)
def skipln(x,y,p,bias):
    if kind=="ms": return op("SkipLayerNormalization",[x,y,c(p+".w",W[p+".weight"]),c(p+".b",W[p+".bias"]),bias],domain="com.microsoft",epsilon=EPS)
    return ln(op("Add",[op("Add",[x,bias]),y]),p)
I("i0",0);I("i1",1);I("i01",0,0,NH,DH);I("iD",0,0,D);I("ax12",1,2);I("axm1",-1);I("ax1",1)
shp=op("Shape",["input_ids"]); L=op("Gather",[shp,"i1"],axis=0)
pos=op("Slice",[c("pe",W["embeddings.position_embeddings.weight"]),"i0",L,"i0"])
e=op("Add",[op("Gather",[c("we",W["embeddings.word_embeddings.weight"]),"input_ids"],axis=0),op("Gather",[c("te",W["embeddings.token_type_embeddings.weight"]),"token_type_ids"],axis=0)])
x=ln(op("Add",[e,pos]),"embeddings.LayerNorm")
fm=op("Cast",["attention_mask"],to=T.FLOAT)
if kind=="ms": m32=op("Cast",["attention_mask"],to=T.INT32)
else: mask=op("Mul",[op("Sub",[F("one",1.0),op("Unsqueeze",[fm,"ax12"])]),F("neg",-3.0e38)])
F("sc",1/np.sqrt(DH)); F("half",.5);F("sq2",np.sqrt(2.0));F("onef",1.0)
for i in range(NL):
    p=f"encoder.layer.{i}."; a=p+"attention."; q=[a+f"self.{z}" for z in("query","key","value")]
    w=np.concatenate([W[z+".weight"].T for z in q],1); b=np.concatenate([W[z+".bias"] for z in q])
    if kind=="ms": y=op("Attention",[x,c(f"qkvw{i}",w),c(f"qkvb{i}",b),m32],domain="com.microsoft",num_heads=NH)
    else:
        s=[op("Reshape",[op("Add",[op("MatMul",[x,c(f"w{z}",W[z+".weight"].T)]),c(f"b{z}",W[z+".bias"])]),"i01"]) for z in q]
        Q=op("Transpose",[s[0]],perm=[0,2,1,3]); K=op("Transpose",[s[1]],perm=[0,2,3,1]); V=op("Transpose",[s[2]],perm=[0,2,1,3])
        A=op("Softmax",[op("Add",[op("Mul",[op("MatMul",[Q,K]),"sc"]),mask])],axis=-1)
        y=op("Reshape",[op("Transpose",[op("MatMul",[A,V])],perm=[0,2,1,3]),"iD"])
    y=op("MatMul",[y,c(f"ow{i}",W[a+"output.dense.weight"].T)])
    x=skipln(y,x,a+"output.LayerNorm",c(f"ob{i}",W[a+"output.dense.bias"]))
    u=op("MatMul",[x,c(f"iw{i}",W[p+"intermediate.dense.weight"].T)]); ib=c(f"ib{i}",W[p+"intermediate.dense.bias"])
    if kind=="ms": g=op("BiasGelu",[u,ib],domain="com.microsoft")
    else:
        u=op("Add",[u,ib]); g=op("Mul",[op("Mul",[u,op("Add",[op("Erf",[op("Div",[u,"sq2"])]),"onef"])]),"half"])
    y=op("MatMul",[g,c(f"dw{i}",W[p+"output.dense.weight"].T)])
    x=skipln(y,x,p+"output.LayerNorm",c(f"db{i}",W[p+"output.dense.bias"]))
f32=lambda n,s: h.make_tensor_value_info(n,T.FLOAT,s); i64=lambda n: h.make_tensor_value_info(n,T.INT64,["batch","seq"])
if pool=="pooled":
    u=op("Unsqueeze",[fm,"axm1"]); s=op("ReduceSum",[op("Mul",[x,u]),"ax1"],keepdims=0)
    nrm=op("Max",[op("ReduceL2",[s],axes=[-1],keepdims=1),F("tiny",1e-12)]); op("Div",[s,nrm],"sentence_embedding"); o=f32("sentence_embedding",["batch",D])
else: op("Identity",[x],"last_hidden_state"); o=f32("last_hidden_state",["batch","seq",D])
g=h.make_graph(nodes,"minilm",[i64("input_ids"),i64("attention_mask"),i64("token_type_ids")],[o],init)
ops=[h.make_opsetid("",17)]+([h.make_opsetid("com.microsoft",1)] if kind=="ms" else [])
m=h.make_model(g,opset_imports=ops,producer_name="minilm-build"); m.ir_version=8
if kind=="std": onnx.checker.check_model(m)
onnx.save(m,out)
